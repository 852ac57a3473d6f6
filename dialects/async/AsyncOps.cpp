//===- AsyncOps.cpp - Operations of the async dialect ---------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace async_opt::async;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses a list of tokens, `()` if there are none. (Nothing at all would read
/// the result of the next operation as a token.)
static ParseResult
parseTokens(OpAsmParser &parser,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &tokens) {
  if (succeeded(parser.parseOptionalLParen()))
    return parser.parseRParen();
  if (parser.parseOperandList(tokens))
    return failure();
  // Upstream's dialect spells the type, so that its awaits can be read, too.
  if (failed(parser.parseOptionalColon()))
    return success();
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    Type type;
    if (parser.parseType(type))
      return failure();
    if (!isa<TokenType>(type))
      return parser.emitError(loc, "expected '!async.token'");
    return success();
  });
}

static void printTokens(OpAsmPrinter &printer, Operation *,
                        OperandRange tokens) {
  if (tokens.empty())
    printer << "()";
  else
    printer.printOperands(tokens);
}

/// Parses a body whose `async.yield` may be left out if it has no operands.
static ParseResult parseTaskBody(OpAsmParser &parser, Region &body) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseRegion(body))
    return failure();
  RegionOp::ensureTerminator(body, parser.getBuilder(),
                             parser.getEncodedSourceLoc(loc));
  return success();
}

static void printTaskBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer.printRegion(body);
}

#define GET_OP_CLASSES
#include "async/AsyncOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// Returns true if a wait for the tokens of `op` also waits for its operands
/// and flattens joins among them.
static bool absorbsJoins(Operation *op) {
  return isa<AwaitOp, JoinOp, RegionOp, YieldOp>(op);
}

/// Returns the only operation that uses the token of `joinOp`, if there is one.
static Operation *getOnlyUser(JoinOp joinOp) {
  Value token = joinOp.getToken();
  if (token.use_empty())
    return nullptr;
  Operation *user = *token.user_begin();
  return llvm::all_of(token.getUsers(),
                      [&](Operation *other) { return other == user; })
             ? user
             : nullptr;
}

bool async_opt::async::simplifyTokens(MutableOperandRange operands,
                                      RewriterBase &rewriter) {
  Operation *owner = operands.getOwner();
  // A join that its only user will flatten is left alone, so that each token of
  // a chain of joins is moved once.
  auto joinOp = dyn_cast<JoinOp>(owner);
  Operation *absorber = joinOp ? getOnlyUser(joinOp) : nullptr;
  bool flatten = !absorber || !absorbsJoins(absorber);

  // Depth first, so that tokens keep the order in which they are written.
  llvm::SmallSetVector<Value, 8> tokens;
  SmallVector<Value> stack;
  bool changed = false;
  auto push = [&](OperandRange range) {
    for (Value token : llvm::reverse(range))
      stack.push_back(token);
  };
  push(operands);
  Operation *user = owner;
  DenseSet<Operation *> flattened;
  while (!stack.empty()) {
    Value token = stack.pop_back_val();
    if (token.getDefiningOp<ReadyOp>()) {
      changed = true;
      continue;
    }
    if (auto inner = token.getDefiningOp<JoinOp>(); inner && flatten) {
      user = getOnlyUser(inner);
      if (user && (user == owner || flattened.contains(user))) {
        changed = true;
        if (flattened.insert(inner).second)
          push(inner.getTokens());
        continue;
      }
    }
    if (!tokens.insert(token))
      changed = true;
  }
  if (changed)
    rewriter.modifyOpInPlace(owner,
                             [&] { operands.assign(tokens.getArrayRef()); });
  return changed;
}

/// Returns a token that is complete when all of `tokens` are.
static Value joinTokens(OpBuilder &builder, Location loc, ValueRange tokens) {
  if (tokens.empty())
    return ReadyOp::create(builder, loc);
  if (tokens.size() == 1)
    return tokens.front();
  return JoinOp::create(builder, loc, tokens);
}

//===----------------------------------------------------------------------===//
// RegionOp
//===----------------------------------------------------------------------===//

YieldOp RegionOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

void RegionOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getToken(), "token");
  if (!getValues().empty())
    setNameFn(getValues().front(), "values");
}

void RegionOp::getSuccessorRegions(RegionBranchPoint point,
                                   SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent())
    regions.emplace_back(&getBody());
  else
    regions.emplace_back(getOperation(), getValues());
}

Speculation::Speculatability RegionOp::getSpeculatability() {
  // Where the region went, what uses its values could follow, past the awaits
  // that stay.
  return getValues().empty() ? Speculation::RecursivelySpeculatable
                             : Speculation::NotSpeculatable;
}

void RegionOp::getRegionInvocationBounds(
    ArrayRef<Attribute>, SmallVectorImpl<InvocationBounds> &bounds) {
  bounds.emplace_back(1, 1);
}

LogicalResult RegionOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("body takes no arguments: it uses the values of the "
                       "enclosing scope directly");
  for (auto [i, value] : llvm::enumerate(getValues()))
    if (isa<TokenType>(value.getType()))
      return emitOpError("can't return a token as value #")
             << i
             << ": yield it after the values, where it delays the region's own "
                "token";
  return success();
}

namespace {
/// Drops dependencies that are complete or repeated.
struct SimplifyDependencies : public OpRewritePattern<RegionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RegionOp op,
                                PatternRewriter &rewriter) const override {
    return success(simplifyTokens(op.getDependenciesMutable(), rewriter));
  }
};

/// A region that does nothing is complete when its dependencies and the tokens
/// that it yields are; the values that it yields come from outside.
struct RemoveEmptyRegion : public OpRewritePattern<RegionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RegionOp op,
                                PatternRewriter &rewriter) const override {
    YieldOp yieldOp = op.getYield();
    if (yieldOp->getPrevNode())
      return rewriter.notifyMatchFailure(op, "body is not empty");
    SmallVector<Value> tokens(op.getDependencies());
    llvm::append_range(tokens, yieldOp.getTokens());
    SmallVector<Value> results = {joinTokens(rewriter, op.getLoc(), tokens)};
    llvm::append_range(results, yieldOp.getValues());
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void RegionOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                           MLIRContext *context) {
  results.add<SimplifyDependencies, RemoveEmptyRegion>(context);
  // Values that are unused, repeated, or defined outside.
  populateRegionBranchOpInterfaceCanonicalizationPatterns(results,
                                                          getOperationName());
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

unsigned YieldOp::getNumValues() {
  unsigned count = getNumOperands();
  while (count != 0 && isa<TokenType>(getOperand(count - 1).getType()))
    --count;
  return count;
}

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  if (isa<RegionOp>((*this)->getParentOp()))
    return MutableOperandRange(*this, 0, getNumValues());
  return getOperandsMutable();
}

static LogicalResult verifyYieldOfRegion(YieldOp op, RegionOp regionOp) {
  OperandRange values = op.getValues();
  for (auto [i, value] : llvm::enumerate(values))
    if (isa<TokenType>(value.getType()))
      return op.emitOpError("yields a token as operand #")
             << i
             << " and values after it: tokens go last, where they delay the "
                "completion of the region";
  if (values.size() != regionOp.getValues().size())
    return op.emitOpError("yields ")
           << values.size() << " values, but the region returns "
           << regionOp.getValues().size()
           << ": list the types of the yielded values after '->' of the "
              "async.region";
  for (auto [i, value, result] : llvm::enumerate(values, regionOp.getValues()))
    if (value.getType() != result.getType())
      return op.emitOpError("yields ")
             << value.getType() << " as value #" << i
             << ", but the region returns " << result.getType();
  return success();
}

static LogicalResult verifyYieldOfFunction(YieldOp op, FuncOp funcOp) {
  ArrayRef<Type> results = funcOp.getResultTypes();
  if (op.getNumOperands() != results.size())
    return op.emitOpError("yields ")
           << op.getNumOperands() << " values, but async.func @"
           << funcOp.getSymName() << " returns " << results.size()
           << ": yield the function's results, its token included (async.join "
              "makes one token of several)";
  for (auto [i, value, type] : llvm::enumerate(op.getOperands(), results))
    if (value.getType() != type)
      return op.emitOpError("yields ")
             << value.getType() << " as value #" << i << ", but async.func @"
             << funcOp.getSymName() << " returns " << type;
  return success();
}

LogicalResult YieldOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (auto regionOp = dyn_cast<RegionOp>(parent))
    return verifyYieldOfRegion(*this, regionOp);
  return verifyYieldOfFunction(*this, cast<FuncOp>(parent));
}

LogicalResult YieldOp::canonicalize(YieldOp op, PatternRewriter &rewriter) {
  // A function's token is a result of its type; only a region's are a set.
  if (!isa<RegionOp>(op->getParentOp()))
    return failure();
  unsigned numValues = op.getNumValues();
  return success(simplifyTokens(
      MutableOperandRange(op, numValues, op.getNumOperands() - numValues),
      rewriter));
}

//===----------------------------------------------------------------------===//
// AwaitOp, ReadyOp, JoinOp
//===----------------------------------------------------------------------===//

LogicalResult AwaitOp::canonicalize(AwaitOp op, PatternRewriter &rewriter) {
  bool changed = simplifyTokens(op.getTokensMutable(), rewriter);
  if (!op.getTokens().empty())
    return success(changed);
  rewriter.eraseOp(op);
  return success();
}

void ReadyOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getToken(), "ready");
}

void JoinOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getToken(), "token");
}

OpFoldResult JoinOp::fold(FoldAdaptor) {
  if (getTokens().empty() || !llvm::all_equal(getTokens()))
    return {};
  Value token = getTokens().front();
  // In code that is never reached a token may be joined to itself.
  return token == getToken() ? OpFoldResult() : OpFoldResult(token);
}

LogicalResult JoinOp::canonicalize(JoinOp op, PatternRewriter &rewriter) {
  bool changed = simplifyTokens(op.getTokensMutable(), rewriter);
  if (op.getTokens().size() > 1)
    return success(changed);
  // The fold replaces a join of one.
  if (op.getTokens().size() == 1)
    return success(changed);
  rewriter.replaceOpWithNewOp<ReadyOp>(op);
  return success();
}

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFuncType =
      [](Builder &builder, ArrayRef<Type> argTypes, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag,
         std::string &) { return builder.getFunctionType(argTypes, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildFuncType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *symbol =
      symbolTable.lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (!symbol)
    return emitOpError("calls @")
           << getCallee() << ", but no async.func of that name is in scope";
  auto funcOp = dyn_cast<FuncOp>(symbol);
  if (!funcOp) {
    InFlightDiagnostic diag = emitOpError("calls @")
                              << getCallee() << ", which is not an async.func";
    diag.attachNote(symbol->getLoc()) << "it is this '" << symbol->getName()
                                      << "'; call it by its own dialect";
    return diag;
  }

  ArrayRef<Type> inputs = funcOp.getArgumentTypes();
  if (inputs.size() != getNumOperands())
    return emitOpError("passes ")
           << getNumOperands() << " operands, but async.func @" << getCallee()
           << " takes " << inputs.size();
  for (auto [i, operand, type] : llvm::enumerate(getOperands(), inputs))
    if (operand.getType() != type)
      return emitOpError("passes ")
             << operand.getType() << " as operand #" << i
             << ", but async.func @" << getCallee() << " takes " << type;

  ArrayRef<Type> results = funcOp.getResultTypes();
  if (results.size() != getNumResults())
    return emitOpError("expects ")
           << getNumResults() << " results, but async.func @" << getCallee()
           << " returns " << results.size();
  for (auto [i, result, type] : llvm::enumerate(getResultTypes(), results))
    if (result != type)
      return emitOpError("expects ")
             << result << " as result #" << i << ", but async.func @"
             << getCallee() << " returns " << type;
  return success();
}
