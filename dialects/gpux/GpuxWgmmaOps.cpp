//===- GpuxWgmmaOps.cpp - Operations of warpgroups ------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"
#include "gpux/Memory.h"
#include "support/MemorySpaces.h"

using namespace mlir;
using namespace async_opt;
using namespace async_opt::gpux;

void WgmmaOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  if (getToken())
    setNameFn(getToken(), "token");
}

LogicalResult WgmmaOp::canonicalize(WgmmaOp op, PatternRewriter &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

/// The bytes of a row in memory, which is swizzled as a whole.
static constexpr int64_t rowBytes = 128;
/// The rows of A that an instruction multiplies.
static constexpr int64_t rowsOfA = 64;
/// The elements of 16 bits in a row of a box, and the K of an instruction that
/// multiplies them.
static constexpr int64_t boxElements = 64;
static constexpr int64_t stepOf16Bits = 16;

/// The most workgroup memory that a block has (CUDA C++ Programming Guide,
/// compute capability 9.0).
static constexpr int64_t maxBytes = 227 * 1024;

namespace {
/// A or B: how many rows (of A) or columns (of B) it has, and K.
struct Factor {
  StringRef name;
  /// The letter of the dimension that is not K.
  StringRef dimension;
  MemRefType type;
  /// True if K is contiguous in memory.
  bool isKMajor;

  int64_t getSize() const { return type.getDimSize(isKMajor ? 0 : 1); }
  int64_t getK() const { return type.getDimSize(isKMajor ? 1 : 0); }
};
} // namespace

/// Returns true if the hardware multiplies `element` and adds the products in
/// `f32`.
static bool isMultiplied(Type element) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float8E4M3FNType,
             Float8E5M2Type>(element);
}

static LogicalResult verifyFactor(WgmmaOp op, const Factor &factor) {
  MemRefType type = factor.type;
  if (type.getRank() != 2 || !type.hasStaticShape() ||
      !isWorkgroupMemory(type.getMemorySpace()))
    return op.emitOpError(factor.name)
           << " must be a matrix of known size in workgroup memory, got "
           << type;
  Type element = type.getElementType();
  if (!isMultiplied(element))
    return op.emitOpError(factor.name) << " has elements of type " << element
                                       << ", but those that can be multiplied "
                                          "are f16, bf16, f32 (as tf32), "
                                          "f8E4M3FN and f8E5M2";
  int64_t bits = element.getIntOrFloatBitWidth();
  // Each size first, so that the product does not overflow.
  if (factor.getSize() > maxBytes || factor.getK() > maxBytes ||
      factor.getSize() * factor.getK() * bits / 8 > maxBytes)
    return op.emitOpError(factor.name)
           << " is larger than the workgroup memory of a block, " << maxBytes
           << " bytes: " << type;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getLayout(type, strides, offset)) ||
      ArrayRef<int64_t>(strides) != ArrayRef<int64_t>{type.getDimSize(1), 1})
    return op.emitOpError(factor.name)
           << " must lie row by row, without gaps, got " << type;
  if (factor.isKMajor) {
    int64_t rowElements = rowBytes * 8 / bits;
    if (factor.getK() != rowElements)
      return op.emitOpError(factor.name)
             << " has rows of " << factor.getK()
             << " elements along K, but a row that is swizzled by 128 bytes "
                "has "
             << rowElements << ": multiply slices of K one after the other";
    return success();
  }
  if (bits != 16)
    return op.emitOpError(factor.name)
           << " has " << factor.dimension
           << " contiguous in memory, which the hardware allows for f16 and "
              "bf16 only: K has to be contiguous for "
           << element;
  if (factor.getSize() % boxElements != 0)
    return op.emitOpError(factor.name)
           << " has rows of " << factor.getSize()
           << " elements, but consists of boxes with rows of " << boxElements
           << " elements: " << factor.dimension
           << " must be a multiple of that";
  if (factor.getK() == 0 || factor.getK() % stepOf16Bits != 0)
    return op.emitOpError(factor.name)
           << " has K = " << factor.getK() << ", but an instruction multiplies "
           << stepOf16Bits << " at a time";
  return success();
}

/// Verifies that A and B can be multiplied.
static LogicalResult verifyFactors(WgmmaOp op, const Factor &a,
                                   const Factor &b) {
  if (failed(verifyFactor(op, a)) || failed(verifyFactor(op, b)))
    return failure();
  Type elementA = a.type.getElementType(), elementB = b.type.getElementType();
  bool areBoth8Bits = isa<Float8E4M3FNType, Float8E5M2Type>(elementA) &&
                      isa<Float8E4M3FNType, Float8E5M2Type>(elementB);
  if (elementA != elementB && !areBoth8Bits)
    return op.emitOpError("A has elements of type ")
           << elementA << ", B of type " << elementB
           << ": the hardware multiplies elements of the same type, or of the "
              "two types of 8-bit floats";
  if (a.getK() != b.getK())
    return op.emitOpError("A has K = ")
           << a.getK() << ", B has K = " << b.getK()
           << ": A is MxK (KxM with transpose_a), B is KxN (NxK with "
              "transpose_b)";
  return success();
}

LogicalResult WgmmaOp::verify() {
  if (!getToken() && !getDependencies().empty())
    return emitOpError("has dependencies but no token: use the async form, or "
                       "wait before the multiplication");
  Factor a{"A", "M", getA().getType().getTensor(), !getTransposeA()};
  Factor b{"B", "N", getB().getType().getTensor(), getTransposeB()};
  if (failed(verifyFactors(*this, a, b)))
    return failure();

  int64_t m = a.getSize(), n = b.getSize();
  if (m == 0 || m % rowsOfA != 0)
    return emitOpError("multiplies ")
           << m << " rows of A, but a warpgroup multiplies " << rowsOfA
           << " at a time";
  if (n == 0 || n > 256 || n % 8 != 0)
    return emitOpError("multiplies ")
           << n
           << " columns of B, but the hardware multiplies a multiple of 8 "
              "up to 256";

  VectorType sum = getAccumulator().getType().getFragmented();
  auto product = VectorType::get({m, n}, Float32Type::get(getContext()));
  if (sum != product)
    return emitOpError("adds ")
           << product << " to the accumulator, which has " << sum;
  return success();
}
