//===- AsyncDialect.cpp - Registration of the async dialect ---------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace async_opt::async;

#include "async/AsyncDialect.cpp.inc"

void AsyncDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "async/AsyncOps.cpp.inc"
      >();
  addTypes<TokenType>();
}

mlir::Type AsyncDialect::parseType(mlir::DialectAsmParser &parser) const {
  if (succeeded(parser.parseOptionalKeyword("token")))
    return TokenType::get(getContext());
  parser.emitError(parser.getNameLoc(), "expected 'token', the only type of "
                                        "the async dialect");
  return {};
}

void AsyncDialect::printType(mlir::Type, mlir::DialectAsmPrinter &os) const {
  os << "token";
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Returns true if `attribute` is an integer from `least` on that fits into 31
/// bits.
static bool isNumber(mlir::Attribute attribute, int64_t least) {
  auto number = mlir::dyn_cast<mlir::IntegerAttr>(attribute);
  if (!number || !number.getType().isSignlessInteger() ||
      !number.getValue().isSignedIntN(32))
    return false;
  return number.getInt() >= least;
}

/// Returns true if `attribute` is an array of numbers from 0 on.
static bool isArrayOfNumbers(mlir::Attribute attribute) {
  auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  return array && llvm::all_of(array, [](mlir::Attribute element) {
           return isNumber(element, 0);
         });
}

/// Returns true if `name` can stand in an option of `--gpux-schedule`.
static bool isEngine(llvm::StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char letter) {
    return llvm::isAlnum(letter) || letter == '_';
  });
}

mlir::LogicalResult
AsyncDialect::verifyOperationAttribute(mlir::Operation *op,
                                       mlir::NamedAttribute attribute) {
  return verifyAttribute(op, attribute);
}

mlir::LogicalResult
async_opt::async::verifyAttribute(mlir::Operation *op,
                                  mlir::NamedAttribute attribute) {
  llvm::StringRef name = attribute.getName();
  mlir::Attribute value = attribute.getValue();
  bool isLoop = mlir::isa<mlir::LoopLikeOpInterface>(op);
  if (name == "async.stage" || name == "async.order") {
    if (isNumber(value, 0))
      return mlir::success();
    auto parts = mlir::dyn_cast<mlir::ArrayAttr>(value);
    if (isLoop && parts && parts.size() == 3 && isArrayOfNumbers(parts))
      return mlir::success();
    return op->emitOpError("attribute '")
           << name << "' must be an integer that is not negative"
           << (isLoop ? ", or three of them: for the prologue, the kernel and "
                        "the epilogue of the loop"
                      : "");
  }
  if (name == "async.engine") {
    auto engine = mlir::dyn_cast<mlir::StringAttr>(value);
    if (engine && isEngine(engine.getValue()))
      return mlir::success();
    return op->emitOpError("attribute '")
           << name << "' must be a name of letters, digits and '_'";
  }
  if (name == "async.latency" || name == "async.occupancy") {
    auto cycles = mlir::dyn_cast<mlir::IntegerAttr>(value);
    if (cycles && cycles.getType().isSignlessInteger(64) &&
        cycles.getInt() >= 0)
      return mlir::success();
    return op->emitOpError("attribute '")
           << name << "' must be a number of cycles, an i64 from 0 on";
  }
  if (name == "async.reads" || name == "async.writes") {
    auto operands = mlir::dyn_cast<mlir::ArrayAttr>(value);
    bool areOperands = operands && isArrayOfNumbers(operands) &&
                       llvm::all_of(operands, [&](mlir::Attribute number) {
                         return mlir::cast<mlir::IntegerAttr>(number).getInt() <
                                int64_t(op->getNumOperands());
                       });
    if (areOperands)
      return mlir::success();
    return op->emitOpError("attribute '")
           << name << "' must be an array of numbers of operands, from 0 on";
  }
  if (name == "async.returns_status") {
    if (mlir::isa<mlir::UnitAttr>(value) &&
        mlir::isa<mlir::FunctionOpInterface>(op))
      return mlir::success();
    return op->emitOpError("attribute '")
           << name << "' has no value and belongs on a function";
  }
  if (name != "async.num_stages" && name != "async.async_stages" &&
      name != "async.across_rounds")
    return op->emitOpError("has attribute '")
           << name << "', which the async dialect does not have";
  if (!isLoop)
    return op->emitOpError("attribute '") << name << "' belongs on a loop";
  if (name == "async.across_rounds" && !mlir::isa<mlir::UnitAttr>(value))
    return op->emitOpError("attribute '") << name << "' has no value";
  if (name == "async.num_stages" && !isNumber(value, 1))
    return op->emitOpError("attribute '")
           << name << "' must be a positive integer";
  if (name == "async.async_stages" && !isArrayOfNumbers(value))
    return op->emitOpError("attribute '")
           << name << "' must be an array of integers that are not negative";
  return mlir::success();
}

void async_opt::async::loadAsyncDialect(mlir::MLIRContext &context) {
  llvm::StringRef name = AsyncDialect::getDialectNamespace();
  if (context.getOrLoadDialect(name))
    return;
  mlir::DialectRegistry registry;
  registerAsyncDialect(registry);
  context.appendDialectRegistry(registry);
  context.getOrLoadDialect(name);
}

void async_opt::async::registerAsyncDialect(mlir::DialectRegistry &registry) {
  registry.insert<AsyncDialect>();
  registerBufferizationModels(registry);
  registerInlinerInterface(registry);
}
