//===- GpuxOps.cpp - Operations of the gpux dialect -----------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"
#include "gpux/Memory.h"
#include "support/MemorySpaces.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace async_opt;
using namespace async_opt::gpux;

using async_opt::async::TokenType;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses `async`, if it is there: the op then has a token.
static ParseResult parseAsyncKeyword(OpAsmParser &parser, Type &tokenType) {
  if (succeeded(parser.parseOptionalKeyword("async")))
    tokenType = TokenType::get(parser.getContext());
  return success();
}

static void printAsyncKeyword(OpAsmPrinter &printer, Operation *,
                              Type tokenType) {
  if (tokenType)
    printer << "async ";
}

/// Parses `async` and after it dependencies in brackets, each if it is there.
static ParseResult parseAsyncClause(
    OpAsmParser &parser, Type &tokenType,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies) {
  if (parseAsyncKeyword(parser, tokenType))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(dependencies,
                              OpAsmParser::Delimiter::OptionalSquare))
    return failure();
  if (!tokenType && parser.getCurrentLocation() != loc)
    return parser.emitError(loc, "dependencies need the 'async' keyword before "
                                 "them: without it there are no tokens");
  return success();
}

static void printAsyncClause(OpAsmPrinter &printer, Operation *op,
                             Type tokenType, OperandRange dependencies) {
  printAsyncKeyword(printer, op, tokenType);
  if (dependencies.empty())
    return;
  printer << "[";
  printer.printOperands(dependencies);
  printer << "] ";
}

/// Parses `async`, which stands for the two tokens of a store, and
/// dependencies.
static ParseResult parseAsyncStoreClause(
    OpAsmParser &parser, SmallVectorImpl<Type> &tokenTypes,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies) {
  Type tokenType;
  if (parseAsyncClause(parser, tokenType, dependencies))
    return failure();
  if (tokenType)
    tokenTypes.assign(2, tokenType);
  return success();
}

static void printAsyncStoreClause(OpAsmPrinter &printer, Operation *op,
                                  TypeRange tokenTypes,
                                  OperandRange dependencies) {
  printAsyncClause(printer, op, tokenTypes.empty() ? Type() : tokenTypes[0],
                   dependencies);
}

/// Parses the types of a transfer: of the source, and after `to` that of the
/// destination or result, if it is another one.
static ParseResult
parseTransferTypes(OpAsmParser &parser, Type &srcType, Type &dstType,
                   Type &resultType,
                   const std::optional<OpAsmParser::UnresolvedOperand> &dst) {
  if (parser.parseType(srcType))
    return failure();
  Type &otherType = dst ? dstType : resultType;
  if (succeeded(parser.parseOptionalKeyword("to")))
    return parser.parseType(otherType);
  otherType = srcType;
  return success();
}

static void printTransferTypes(OpAsmPrinter &printer, Operation *, Type srcType,
                               Type dstType, Type resultType, Value) {
  printer << srcType;
  Type otherType = dstType ? dstType : resultType;
  if (otherType && otherType != srcType)
    printer << " to " << otherType;
}

#define GET_OP_CLASSES
#include "gpux/GpuxOps.cpp.inc"

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

void CopyOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  if (getToken())
    setNameFn(getToken(), "token");
}

int64_t CopyOp::getTransferBytes() {
  return getElements() * getDstType().getElementTypeBitWidth() / 8;
}

LogicalResult CopyOp::canonicalize(CopyOp op, PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

/// Verifies one side of a copy, of which everything but the memory space has
/// the same rules.
static LogicalResult verifySide(CopyOp op, StringRef side, Value memref,
                                OperandRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  if (static_cast<int64_t>(indices.size()) != type.getRank())
    return op.emitOpError(side) << " has rank " << type.getRank() << ", but "
                                << indices.size() << " indices are given";
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getLayout(type, strides, offset)))
    return op.emitOpError(side) << " needs a strided layout, got " << type;
  if (op.getElements() > 1 && (strides.empty() || strides.back() != 1))
    return op.emitOpError(side)
           << " needs a contiguous innermost dimension (stride 1) to copy "
           << op.getElements() << " elements at once, got " << type;
  return success();
}

static LogicalResult verifyAlignment(CopyOp op, StringRef side, Value memref,
                                     OperandRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  uint64_t bytes = op.getTransferBytes();
  Congruence address =
      getAddress(memref, indices, type.getElementTypeBitWidth() / 8, bytes);
  if (address.remainder != 0)
    return op.emitOpError(side)
           << " address is misaligned: a transfer of " << bytes
           << " bytes needs a multiple of " << bytes << ", but it is "
           << address.remainder << " modulo " << address.modulus;
  return success();
}

LogicalResult CopyOp::verify() {
  MemRefType srcType = getSrcType();
  MemRefType dstType = getDstType();
  if (!getToken() && !getDependencies().empty())
    return emitOpError("has dependencies but no token: use the async form, or "
                       "wait before the copy");
  if (!isGlobalMemory(srcType.getMemorySpace()))
    return emitOpError("source must be in global memory (the default memory "
                       "space, 1 or #gpu.address_space<global>), got ")
           << srcType;
  if (!isWorkgroupMemory(dstType.getMemorySpace()))
    return emitOpError(
               "destination must be in workgroup memory (memory space 3 "
               "or #gpu.address_space<workgroup>), got ")
           << dstType;

  Type elementType = dstType.getElementType();
  if (srcType.getElementType() != elementType)
    return emitOpError("source has elements of type ")
           << srcType.getElementType() << ", the destination of type "
           << elementType << ": a copy does not convert";
  if (!elementType.isIntOrFloat() ||
      elementType.getIntOrFloatBitWidth() % 8 != 0)
    return emitOpError(
               "elements must be integers or floats of whole bytes, got ")
           << elementType;

  int64_t elements = getElements();
  int64_t elementBytes = elementType.getIntOrFloatBitWidth() / 8;
  // Checked first, so that the product does not overflow.
  if (elements < 1 || elements > 16)
    return emitOpError("copies ")
           << elements << " elements, but a transfer has 4, 8 or 16 bytes";
  if (!llvm::is_contained<int64_t>({4, 8, 16}, elements * elementBytes))
    return emitOpError("copies ")
           << elements << " elements of " << elementBytes
           << " bytes = " << elements * elementBytes
           << " bytes, but a transfer has 4, 8 or 16 bytes";
  if (getBypassL1() && elements * elementBytes != 16)
    return emitOpError("bypass_l1 needs a transfer of 16 bytes, got ")
           << elements * elementBytes;
  if (getCount())
    if (std::optional<int64_t> count = getConstant(getCount()))
      if (*count < 0 || *count > elements)
        return emitOpError("reads ")
               << *count << " elements of the source, but copies " << elements
               << ": the count is between 0 and the number of elements";

  if (failed(verifySide(*this, "source", getSrc(), getSrcIndices())) ||
      failed(verifySide(*this, "destination", getDst(), getDstIndices())))
    return failure();
  if (failed(verifyAlignment(*this, "source", getSrc(), getSrcIndices())))
    return failure();
  return verifyAlignment(*this, "destination", getDst(), getDstIndices());
}

//===----------------------------------------------------------------------===//
// CommitGroupOp
//===----------------------------------------------------------------------===//

void CommitGroupOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  if (getToken())
    setNameFn(getToken(), "token");
}

//===----------------------------------------------------------------------===//
// WaitGroupOp
//===----------------------------------------------------------------------===//

LogicalResult WaitGroupOp::verify() {
  int64_t pending = getPending();
  int64_t most = gpux::getGroupQueue(getQueue()).getMaxPendingGroups();
  if (pending < 0 || pending > most)
    return emitOpError("leaves ")
           << pending << " groups in flight, but the hardware counts from 0 to "
           << most << " on the " << stringifyQueue(getQueue()) << " queue";
  if (getRead() && getQueue() != Queue::Bulk)
    return emitOpError("waits for reads only, which the ")
           << stringifyQueue(getQueue())
           << " queue can't tell apart: 'read' is for <bulk>";
  return success();
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

/// Checks what the two operations on flags have in common.
template <typename FlagOp> static LogicalResult verifyFlag(FlagOp op) {
  if (op.getFrom().empty() || op.getTo().empty())
    return op.emitOpError("names no engine");
  if (op.getFrom() == op.getTo())
    return op.emitOpError("is between '")
           << op.getFrom()
           << "' and itself: an engine keeps its own order, without flags";
  int64_t id = op.getIdAttr().getInt();
  if (id < 0)
    return op.emitOpError("has id ") << id << ", but ids begin at 0";
  return success();
}

LogicalResult SetFlagOp::verify() { return verifyFlag(*this); }

LogicalResult WaitFlagOp::verify() { return verifyFlag(*this); }
