//===- GpuxBulkOps.cpp - Block-wide operations of the gpux dialect --------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"
#include "gpux/Memory.h"
#include "support/MemorySpaces.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace async_opt;
using namespace async_opt::gpux;

using nvgpu::TensorMapDescriptorType;
using nvgpu::TensorMapInterleaveKind;
using nvgpu::TensorMapSwizzleKind;

/// What a phase of an mbarrier counts: less than 2^20 bytes.
constexpr int64_t kMaxPhaseBytes = (1 << 20) - 1;
/// The elements of a box in one dimension, and the dimensions of a tensor.
constexpr int64_t kMaxBoxSize = kMaxTMADimension;
constexpr int64_t kMaxTensorRank = kMaxTMATensorDimension;
/// What addresses and sizes are a multiple of: of bulk copies, and of tiles in
/// workgroup memory.
constexpr uint64_t kBulkAlignment = 16;
constexpr uint64_t kTileAlignment = 128;

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

static int64_t getElementBytes(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

/// The bytes of a memref of static shape, but no more than fit.
static int64_t getBytes(MemRefType type) {
  int64_t bytes = getElementBytes(type);
  for (int64_t size : type.getShape())
    bytes = llvm::SaturatingMultiply<uint64_t>(bytes, size) >
                    static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                ? std::numeric_limits<int64_t>::max()
                : bytes * size;
  return bytes;
}

/// Verifies that `memref` has a static shape without gaps, of elements of whole
/// bytes.
static LogicalResult verifyContiguous(Operation *op, StringRef side,
                                      MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return op->emitOpError(
               "elements must be integers or floats of whole bytes, got ")
           << element;
  if (!type.hasStaticShape())
    return op->emitOpError(side) << " needs a static shape, got " << type;
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t next = 1;
  bool contiguous = succeeded(getLayout(type, strides, offset));
  for (int64_t i = type.getRank() - 1; contiguous && i >= 0; --i) {
    contiguous = type.getDimSize(i) == 1 || strides[i] == next;
    next *= type.getDimSize(i);
  }
  if (!contiguous)
    return op->emitOpError(side)
           << " must be contiguous, row by row without gaps, got " << type;
  return success();
}

/// Verifies the memory of the workgroup that an operation reads or writes.
static LogicalResult verifyWorkgroupSide(Operation *op, StringRef side,
                                         MemRefType type) {
  if (!isWorkgroupMemory(type.getMemorySpace()))
    return op->emitOpError(side)
           << " must be in workgroup memory (memory space 3 or "
              "#gpu.address_space<workgroup>), got "
           << type;
  return verifyContiguous(op, side, type);
}

/// Verifies that what `memref` starts with may be a multiple of `alignment`
/// bytes.
static LogicalResult verifyStart(Operation *op, StringRef side,
                                 TypedValue<MemRefType> memref,
                                 uint64_t alignment) {
  Congruence address = getAddress(
      memref, {}, static_cast<uint64_t>(getElementBytes(memref.getType())),
      alignment);
  if (address.remainder != 0)
    return op->emitOpError(side)
           << " address is misaligned: it must be a multiple of " << alignment
           << " bytes, but is " << address.remainder << " modulo "
           << address.modulus;
  return success();
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

template <typename LoadT> static LogicalResult verifyLoadForm(LoadT op) {
  bool isAsync = static_cast<bool>(op.getToken());
  if (isAsync && op.getBarriers())
    return op.emitOpError("has a token and an mbarrier: the async form has the "
                          "token, the issued form the mbarrier");
  if (!isAsync && !op.getBarriers())
    return op.emitOpError("has no completion: use the async form, which has a "
                          "token, or name the mbarrier, as in '%ring[%slot]'");
  if (op.getBarriers() && !op.getSlot())
    return op.emitOpError("needs the mbarrier's slot, as in '%ring[%slot]'");
  if (op.getSlot() && !op.getBarriers())
    return op.emitOpError("has a slot, but no mbarriers that it is one of");
  if (op.getBarriers()) {
    auto group = op.getBarriers().getType();
    if (!isWorkgroupMemory(group.getMemorySpace()))
      return op.emitOpError("mbarriers must be in workgroup memory (memory "
                            "space 3 or #gpu.address_space<workgroup>), got ")
             << group;
    std::optional<int64_t> slot = getConstantIntValue(op.getSlot());
    int64_t number = group.getNumBarriers();
    if (slot && (*slot < 0 || *slot >= number))
      return op.emitOpError("names slot ")
             << *slot << ", but there are " << number
             << " mbarriers, which are counted from 0";
  }
  if (!isAsync && !op.getDependencies().empty())
    return op.emitOpError("has dependencies but no token: use the async form, "
                          "or wait before the load");
  if (!isAsync && op.getIssuer())
    return op.emitOpError("names the warp that issues it, but has no token: "
                          "whoever executes the issued form issues it");
  return success();
}

template <typename StoreT> static LogicalResult verifyStoreForm(StoreT op) {
  if (op.getTokens().size() != 0 && op.getTokens().size() != 2)
    return op.emitOpError("has ")
           << op.getTokens().size()
           << " tokens, but the async form has two (source read, destination "
              "written) and the issued form none";
  if (op.getTokens().empty() && !op.getDependencies().empty())
    return op.emitOpError("has dependencies but no token: use the async form, "
                          "or wait before the store");
  return success();
}

static void nameToken(OpAsmSetValueNameFn setNameFn, Value token) {
  if (token)
    setNameFn(token, "token");
}

template <typename StoreT>
static void nameStoreTokens(OpAsmSetValueNameFn setNameFn, StoreT op) {
  if (op.getTokens().size() != 2)
    return;
  setNameFn(op.getRead(), "read");
  setNameFn(op.getDone(), "done");
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Returns true if the accelerator has elements of type `type`.
static bool isTensorElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8);
}

/// How many bytes a row has, which is what the swizzle repeats after; 0 if
/// there is no swizzle. The hardware takes shorter rows, nvgpu's operations
/// don't.
static int64_t getSwizzleBytes(TensorMapSwizzleKind swizzle) {
  switch (swizzle) {
  case TensorMapSwizzleKind::SWIZZLE_NONE:
    return 0;
  case TensorMapSwizzleKind::SWIZZLE_32B:
    return 32;
  case TensorMapSwizzleKind::SWIZZLE_64B:
    return 64;
  case TensorMapSwizzleKind::SWIZZLE_128B:
    return 128;
  }
  llvm_unreachable("all kinds are listed");
}

/// Verifies what a descriptor's type says.
static LogicalResult verifyTensor(Operation *op, TensorMapDescriptorType type,
                                  size_t numIndices) {
  MemRefType box = type.getTensor();
  int64_t rank = box.getRank();
  if (rank < 1 || rank > kMaxTensorRank)
    return op->emitOpError("tensor has ")
           << rank << " dimensions, but the hardware knows tensors of 1 to "
           << kMaxTensorRank;
  if (static_cast<int64_t>(numIndices) != rank)
    return op->emitOpError("tensor has ")
           << rank << " dimensions, but " << numIndices << " indices are given";
  if (!isTensorElement(box.getElementType()))
    return op->emitOpError("tensor has elements of type ")
           << box.getElementType()
           << ", but the hardware knows integers of 8, 16, 32 or 64 bits, f16, "
              "bf16, f32, f64 and floats of 8 bits";
  if (!isWorkgroupMemory(box.getMemorySpace()))
    return op->emitOpError("box must be in workgroup memory (memory space 3 or "
                           "#gpu.address_space<workgroup>), got ")
           << box;
  if (failed(verifyContiguous(op, "box", box)))
    return failure();
  for (int64_t size : box.getShape())
    if (size < 1 || size > kMaxBoxSize)
      return op->emitOpError("box has ")
             << size << " elements in a dimension, but the hardware loads 1 to "
             << kMaxBoxSize
             << " at once; make the box smaller, and the memref a multiple of "
                "it in its outermost dimension";
  int64_t row = box.getShape().back() * getElementBytes(box);
  if (row % kBulkAlignment != 0)
    return op->emitOpError("box has rows of ")
           << row << " bytes, but the hardware needs a multiple of "
           << kBulkAlignment;
  int64_t swizzle = getSwizzleBytes(type.getSwizzle());
  if (swizzle != 0 && row != swizzle)
    return op->emitOpError("box has rows of ")
           << row << " bytes, but a swizzle of " << swizzle
           << " bytes is for rows of as many";
  if (type.getInterleave() != TensorMapInterleaveKind::INTERLEAVE_NONE)
    return op->emitOpError("has an interleaved tensor, which is for layouts of "
                           "images (NC/8HWC8) only; use interleave = none");
  return success();
}

/// Verifies that `memref` is one box of the tensor, or several in a row.
static LogicalResult verifyTile(Operation *op, StringRef side,
                                TensorMapDescriptorType tensor,
                                TypedValue<MemRefType> memref,
                                size_t numIndices) {
  if (failed(verifyTensor(op, tensor, numIndices)))
    return failure();
  MemRefType box = tensor.getTensor();
  MemRefType type = memref.getType();
  if (type.getElementType() != box.getElementType())
    return op->emitOpError("tensor has elements of type ")
           << box.getElementType() << ", the " << side << " of type "
           << type.getElementType() << ": nothing is converted";
  if (failed(verifyWorkgroupSide(op, side, type)))
    return failure();
  if (type.getRank() != box.getRank())
    return op->emitOpError(side)
           << " has rank " << type.getRank() << ", but the tensor has rank "
           << box.getRank();
  bool outermost = true;
  for (auto [size, boxSize] :
       llvm::zip_equal(type.getShape(), box.getShape())) {
    bool fits = outermost ? size > 0 && size % boxSize == 0 : size == boxSize;
    if (!fits)
      return op->emitOpError(side)
             << " must have the shape of the box, or a multiple of it in the "
                "outermost dimension that is not 1, so that each box is "
                "contiguous: got "
             << type << " for " << box;
    outermost &= size == 1;
  }
  int64_t boxBytes = getBytes(box);
  if (boxBytes % kTileAlignment != 0 && type.getShape() != box.getShape())
    return op->emitOpError(side)
           << " is several boxes of " << boxBytes
           << " bytes, of which each must begin at a multiple of "
           << kTileAlignment
           << " bytes; make the box larger, or transfer boxes one by one";
  return verifyStart(op, side, memref, kTileAlignment);
}

/// Verifies that so much fits in a phase of an mbarrier; what a store reads has
/// to fit in workgroup memory, which is less.
static LogicalResult verifyTransferBytes(Operation *op, int64_t bytes,
                                         bool isLoad) {
  if (bytes <= kMaxPhaseBytes)
    return success();
  if (isLoad)
    return op->emitOpError("transfers ")
           << bytes << " bytes, but an mbarrier counts at most "
           << kMaxPhaseBytes;
  return op->emitOpError("transfers ")
         << bytes << " bytes, but workgroup memory has less than "
         << kMaxPhaseBytes;
}

void TmaLoadOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameToken(setNameFn, getToken());
}

int64_t TmaLoadOp::getTransferBytes() { return getBytes(getDst().getType()); }

LogicalResult TmaLoadOp::canonicalize(TmaLoadOp op, PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyLoadForm(*this)) ||
      failed(verifyTile(*this, "destination", getTensor().getType(), getDst(),
                        getIndices().size())))
    return failure();
  return verifyTransferBytes(*this, getTransferBytes(), /*isLoad=*/true);
}

void TmaStoreOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameStoreTokens(setNameFn, *this);
}

LogicalResult TmaStoreOp::canonicalize(TmaStoreOp op,
                                       PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

LogicalResult TmaStoreOp::verify() {
  if (failed(verifyStoreForm(*this)))
    return failure();
  return verifyTile(*this, "source", getTensor().getType(), getSrc(),
                    getIndices().size());
}

//===----------------------------------------------------------------------===//
// Contiguous memory
//===----------------------------------------------------------------------===//

/// Verifies a copy of `src` to `dst`, of which `side` is the one in the memory
/// of the workgroup.
static LogicalResult verifyBulk(Operation *op, TypedValue<MemRefType> src,
                                TypedValue<MemRefType> dst, bool isLoad) {
  StringRef sides[] = {"source", "destination"};
  TypedValue<MemRefType> values[] = {src, dst};
  TypedValue<MemRefType> global = values[isLoad ? 0 : 1];
  MemRefType type = global.getType();
  if (!isGlobalMemory(type.getMemorySpace()))
    return op->emitOpError(sides[isLoad ? 0 : 1])
           << " must be in global memory (the default memory space, 1 or "
              "#gpu.address_space<global>), got "
           << type;
  if (failed(verifyWorkgroupSide(op, sides[isLoad ? 1 : 0],
                                 values[isLoad ? 1 : 0].getType())) ||
      failed(verifyContiguous(op, sides[isLoad ? 0 : 1], type)))
    return failure();
  if (src.getType().getElementType() != dst.getType().getElementType())
    return op->emitOpError("source has elements of type ")
           << src.getType().getElementType() << ", the destination of type "
           << dst.getType().getElementType() << ": a copy does not convert";
  int64_t bytes = getBytes(dst.getType());
  if (failed(verifyTransferBytes(op, bytes, isLoad)))
    return failure();
  // The same elements, so the same number of them.
  if (getBytes(src.getType()) != bytes)
    return op->emitOpError("source has ")
           << getBytes(src.getType()) << " bytes, the destination " << bytes;
  if (bytes == 0 || bytes % kBulkAlignment != 0)
    return op->emitOpError("copies ")
           << bytes << " bytes, but the hardware copies a multiple of "
           << kBulkAlignment;
  for (auto [side, value] : llvm::zip_equal(sides, values))
    if (failed(verifyStart(op, side, value, kBulkAlignment)))
      return failure();
  return success();
}

void BulkLoadOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameToken(setNameFn, getToken());
}

int64_t BulkLoadOp::getTransferBytes() { return getBytes(getDst().getType()); }

LogicalResult BulkLoadOp::canonicalize(BulkLoadOp op,
                                       PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

LogicalResult BulkLoadOp::verify() {
  if (failed(verifyLoadForm(*this)))
    return failure();
  return verifyBulk(*this, getSrc(), getDst(), /*isLoad=*/true);
}

void BulkStoreOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  nameStoreTokens(setNameFn, *this);
}

LogicalResult BulkStoreOp::canonicalize(BulkStoreOp op,
                                        PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

LogicalResult BulkStoreOp::verify() {
  if (failed(verifyStoreForm(*this)))
    return failure();
  return verifyBulk(*this, getSrc(), getDst(), /*isLoad=*/false);
}

//===----------------------------------------------------------------------===//
// ElectOp
//===----------------------------------------------------------------------===//

void ElectOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getLeader(), "leader");
}
