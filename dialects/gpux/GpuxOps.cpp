//===- GpuxOps.cpp - Operations of the gpux dialect -----------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
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
                                 "them: the counted form has no tokens");
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
  return success(async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

/// Returns true if `memorySpace` is the memory that all threads of the grid
/// see.
static bool isGlobalMemory(Attribute memorySpace) {
  if (!memorySpace)
    return true;
  if (auto space = dyn_cast<gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == gpu::AddressSpace::Global;
  if (auto space = dyn_cast<IntegerAttr>(memorySpace))
    return space.getValue() == 1;
  return false;
}

/// Returns true if `memorySpace` is the memory that the threads of a block
/// share.
static bool isWorkgroupMemory(Attribute memorySpace) {
  if (!memorySpace)
    return false;
  if (auto space = dyn_cast<gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  if (auto space = dyn_cast<IntegerAttr>(memorySpace))
    return space.getValue() == 3;
  return false;
}

/// The value of `value`, if it is a constant that fits.
static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) ||
      constant.getSignificantBits() > 64)
    return std::nullopt;
  return constant.getSExtValue();
}

/// Sets the strides and the offset of `type`, in elements. MLIR's own way takes
/// row-major layouts through affine maps, which is most of the time of
/// verifying many copies.
static LogicalResult
getLayout(MemRefType type, SmallVectorImpl<int64_t> &strides, int64_t &offset) {
  if (!type.getLayout().isIdentity())
    return type.getStridesAndOffset(strides, offset);
  offset = 0;
  strides.assign(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i) {
    int64_t size = type.getDimSize(i + 1);
    bool dynamic =
        ShapedType::isDynamic(size) || ShapedType::isDynamic(strides[i + 1]);
    strides[i] = dynamic ? ShapedType::kDynamic : strides[i + 1] * size;
  }
  return success();
}

namespace {
/// The set of all numbers that are equal to `remainder` modulo `modulus`, which
/// is a power of two.
struct Congruence {
  uint64_t modulus;
  uint64_t remainder = 0;

  /// Adds a known number.
  void add(uint64_t number) { remainder = (remainder + number) % modulus; }

  /// Adds a number of which only a factor is known.
  void addMultipleOf(uint64_t factor) {
    modulus = std::gcd(modulus, factor);
    remainder %= modulus;
  }
};
} // namespace

/// Returns what is known of the byte address of an access modulo the power of
/// two `modulus`, if the buffer itself is aligned. All arithmetic wraps around,
/// which keeps it exact modulo a power of two.
static Congruence getAddress(Value memref, ValueRange indices,
                             uint64_t elementBytes, uint64_t modulus) {
  Congruence address{modulus};
  SmallVector<int64_t> strides;
  int64_t offset;
  [[maybe_unused]] LogicalResult strided =
      getLayout(cast<MemRefType>(memref.getType()), strides, offset);
  assert(succeeded(strided) && "verified before");
  auto addElements = [&](int64_t elements) {
    if (ShapedType::isDynamic(elements))
      address.addMultipleOf(elementBytes);
    else
      address.add(static_cast<uint64_t>(elements) * elementBytes);
  };
  addElements(offset);
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    std::optional<int64_t> constant = getConstant(index);
    uint64_t factor = elementBytes;
    if (!ShapedType::isDynamic(stride))
      factor *= static_cast<uint64_t>(stride);
    if (constant)
      factor *= static_cast<uint64_t>(*constant);
    if (constant && (*constant == 0 || !ShapedType::isDynamic(stride)))
      address.add(factor);
    else
      address.addMultipleOf(factor);
  }

  // A buffer may be carved out of another one, at any byte. All other views
  // keep the base, from which the offset in the type counts.
  while (Operation *op = memref.getDefiningOp()) {
    if (auto viewOp = dyn_cast<memref::ViewOp>(op)) {
      if (std::optional<int64_t> shift = getConstant(viewOp.getByteShift()))
        address.add(static_cast<uint64_t>(*shift));
      else
        address.addMultipleOf(1);
    } else if (!isa<memref::CastOp, memref::CollapseShapeOp,
                    memref::ExpandShapeOp, memref::MemorySpaceCastOp,
                    memref::ReinterpretCastOp, memref::SubViewOp,
                    memref::TransposeOp>(op)) {
      break;
    }
    memref = op->getOperand(0);
  }
  return address;
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
  if (pending < 0 || pending > kMaxPendingGroups)
    return emitOpError("leaves ")
           << pending << " groups in flight, but the hardware counts from 0 to "
           << kMaxPendingGroups;
  if (getRead() && getQueue() != Queue::Bulk)
    return emitOpError("waits for reads only, which the ")
           << stringifyQueue(getQueue())
           << " queue can't tell apart: 'read' is for <bulk>";
  return success();
}
