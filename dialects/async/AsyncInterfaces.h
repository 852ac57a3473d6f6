//===- AsyncInterfaces.h - What asynchronous operations mean ---*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_ASYNCINTERFACES_H
#define ASYNC_OPT_ASYNC_ASYNCINTERFACES_H

#include "async/GroupQueue.h"

#include "mlir/IR/OpDefinition.h"

#include "async/AsyncInterfaces.h.inc"

#endif // ASYNC_OPT_ASYNC_ASYNCINTERFACES_H
