//===- FaultGuard.h - End fatal errors with a message -----------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream ends the process on input that it did not foresee: its bytecode
// reader believes the sizes that a damaged file claims and asks for terabytes,
// its code generator stops at what it can't select. A tool must not crash on
// its input, so each of these ends in an error message and exit code 1.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_FAULTGUARD_H
#define ASYNCOPT_CAPI_FAULTGUARD_H

#include "llvm/ADT/StringRef.h"

namespace async_opt {

/// Has fatal errors of LLVM, allocations that fail, uncaught C++ exceptions and
/// an overflow of the calling thread's stack end the process with an error
/// message and exit code 1. The overflow is the last resort where
/// NestingLimit.h could not foresee the recursion.
///
/// Call it after LLVM has installed its own signal handlers, which get every
/// other fault.
void installFaultGuard();

/// Names the input that messages from here on are about.
void setFaultGuardInput(llvm::StringRef filename);

} // namespace async_opt

#endif // ASYNCOPT_CAPI_FAULTGUARD_H
