//===- DialectTable.h - Dialects by name ------------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_CAPI_DIALECTTABLE_H
#define ASYNCOPT_CAPI_DIALECTTABLE_H

#include "mlir/IR/DialectRegistry.h"

namespace async_opt {

using DialectInserter = void (*)(mlir::DialectRegistry &);

/// What adds the dialect of this name to a registry, or null if passes can't
/// depend on it.
DialectInserter lookupDialect(llvm::StringRef name);

} // namespace async_opt

#endif // ASYNCOPT_CAPI_DIALECTTABLE_H
