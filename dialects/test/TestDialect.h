//===- TestDialect.h - A dialect with a queue of its own --------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_TEST_TESTDIALECT_H
#define ASYNC_OPT_TEST_TESTDIALECT_H

#include "async/Async.h"

#include "test/TestDialect.h.inc"

#define GET_OP_CLASSES
#include "test/TestOps.h.inc"

namespace async_opt::test {

/// Registers the dialect.
void registerTestDialect(mlir::DialectRegistry &registry);

} // namespace async_opt::test

#endif // ASYNC_OPT_TEST_TESTDIALECT_H
