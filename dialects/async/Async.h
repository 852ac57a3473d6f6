//===- Async.h - The async dialect ------------------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_ASYNC_H
#define ASYNC_OPT_ASYNC_ASYNC_H

#include "async/AsyncInterfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Async/IR/AsyncTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "async/AsyncDialect.h.inc"

namespace async_opt::async {
/// The type of tokens, which upstream's dialect `async` shares.
using TokenType = ::mlir::async::TokenType;

/// The operation starts when all tokens among its operands are complete.
template <typename ConcreteType>
class StartsAfterTokens
    : public mlir::OpTrait::TraitBase<ConcreteType, StartsAfterTokens> {};
} // namespace async_opt::async

#define GET_OP_CLASSES
#include "async/AsyncOps.h.inc"

namespace async_opt::async {

/// Drops the tokens among `operands` that need no waiting for: `async.ready`
/// and duplicates; replaces a join that only `operands` use by what it joins.
/// All tokens must belong to one operation. Returns true if anything changed.
bool simplifyTokens(mlir::MutableOperandRange operands,
                    mlir::RewriterBase &rewriter);

/// Registers the dialect with everything that upstream passes ask of it:
/// inlining and bufferization.
void registerAsyncDialect(mlir::DialectRegistry &registry);

/// Loads the dialect `async` of `context`: whichever is registered there,
/// upstream's or ours, or else ours.
void loadAsyncDialect(mlir::MLIRContext &context);

/// Verifies an attribute of `op` that has the name of the dialect, which
/// upstream's dialect of that name does not do.
mlir::LogicalResult verifyAttribute(mlir::Operation *op,
                                    mlir::NamedAttribute attribute);

/// Registers what upstream's dialect `async` lacks, for contexts that have it:
/// `async.ready` and `async.join`.
void registerUpstreamExtension(mlir::DialectRegistry &registry);

/// Registers the bufferization of the dialect's ops.
void registerBufferizationModels(mlir::DialectRegistry &registry);

/// Registers the inlining of calls and into regions.
void registerInlinerInterface(mlir::DialectRegistry &registry);

} // namespace async_opt::async

#endif // ASYNC_OPT_ASYNC_ASYNC_H
