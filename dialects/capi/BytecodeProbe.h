//===- BytecodeProbe.h - Read damaged bytecode safely -----------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's bytecode reader trusts its input: damaged files can corrupt the
// heap, overflow the stack or keep it busy for hours. No check from outside can
// foresee that, short of a second reader. So a child process reads the file
// first, and this one only what the child survived. Reading bytecode is fast;
// doing it twice costs little.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_BYTECODEPROBE_H
#define ASYNCOPT_CAPI_BYTECODEPROBE_H

#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace async_opt {

/// Returns true if `buffer` is not bytecode, or bytecode that can be read; else
/// prints why not to `errors` (or the standard error stream: they should be the
/// same).
///
/// Call it while no other thread runs: it forks.
bool checkBytecode(llvm::MemoryBufferRef buffer,
                   const mlir::DialectRegistry &registry,
                   llvm::raw_ostream &errors);

} // namespace async_opt

#endif // ASYNCOPT_CAPI_BYTECODEPROBE_H
