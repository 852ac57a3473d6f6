//===- NestingLimit.h - Refuse input that nests too deep --------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR parses, verifies and prints nested regions, attributes and types by
// recursion, so that a stock `mlir-opt` dies without a word at some thousands
// of levels. Our tools run on a large stack and refuse what even that could not
// hold.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_NESTINGLIMIT_H
#define ASYNCOPT_CAPI_NESTINGLIMIT_H

#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

namespace async_opt {

/// The deepest nesting that a stack of `stackSize` bytes is trusted to hold.
size_t getNestingLimit(size_t stackSize);

/// Returns true if no brackets in the MLIR source `buffer` nest deeper than
/// `limit`; else prints an error with the place to `errors`. Bytecode is always
/// accepted: see BytecodeProbe.h.
bool checkNesting(llvm::MemoryBufferRef buffer, size_t limit,
                  llvm::raw_ostream &errors);

/// Has every thread that is started from now on run on a stack of `stackSize`
/// bytes: MLIR's worker threads recurse as deep as the main one.
void setWorkerStackSize(size_t stackSize);

} // namespace async_opt

#endif // ASYNCOPT_CAPI_NESTINGLIMIT_H
