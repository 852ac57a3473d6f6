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
/// The threads of a warpgroup, and the most registers that each has.
static constexpr int64_t threads = 128;
static constexpr int64_t maxRegisters = 255;

namespace {
/// What a product depends on of A or B: the rows (of A) or columns (of B), and
/// K.
struct Shape {
  Type element;
  int64_t size;
  int64_t k;
};

/// A or B in workgroup memory: how many rows (of A) or columns (of B) it has,
/// and K.
struct Factor {
  StringRef name;
  /// The letter of the dimension that is not K.
  StringRef dimension;
  MemRefType type;
  /// True if K is contiguous in memory.
  bool isKMajor;

  int64_t getSize() const { return type.getDimSize(isKMajor ? 0 : 1); }
  int64_t getK() const { return type.getDimSize(isKMajor ? 1 : 0); }
  Shape getShape() const { return {type.getElementType(), getSize(), getK()}; }
};
} // namespace

static bool isFloatOf8Bits(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

/// Returns true if the hardware multiplies `element`.
static bool isMultiplied(Type element) {
  return isa<Float16Type, BFloat16Type, Float32Type>(element) ||
         isFloatOf8Bits(element) || element.isInteger(8);
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
                                          "f8E4M3FN, f8E5M2, i8 and ui8";
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

/// Verifies that the registers of the threads have room for `matrix`, M×N
/// elements of at most 32 bits.
static LogicalResult verifyRegisters(Operation *op, VectorType matrix) {
  // A size alone first, so that the product does not overflow.
  constexpr int64_t most = maxRegisters * threads;
  int64_t rows = matrix.getDimSize(0), columns = matrix.getDimSize(1);
  int64_t numbers = 32 / matrix.getElementTypeBitWidth();
  if (rows <= most && columns <= numbers * most &&
      rows * columns <= numbers * most)
    return success();
  return op->emitOpError("is of ")
         << matrix << ", which is larger than the registers of a warpgroup, "
         << maxRegisters << " of 32 bits in each thread";
}

/// Verifies A, and returns its shape.
static FailureOr<Shape> verifyA(WgmmaOp op) {
  if (auto memory =
          dyn_cast<nvgpu::WarpgroupMatrixDescriptorType>(op.getA().getType())) {
    Factor a{"A", "M", memory.getTensor(), !op.getTransposeA()};
    if (failed(verifyFactor(op, a)))
      return failure();
    return a.getShape();
  }
  auto registers = cast<nvgpu::WarpgroupAccumulatorType>(op.getA().getType());
  VectorType matrix = registers.getFragmented();
  if (op.getTransposeA())
    return op.emitOpError("transposes A, which is in registers: the hardware "
                          "transposes what lies in workgroup memory only");
  Type element = matrix.getElementType();
  if (!isa<Float16Type, BFloat16Type>(element))
    return op.emitOpError("A is in registers with elements of type ")
           << element
           << ", but only f16 and bf16 lie there as gpux.write_fragment "
              "writes: put A into workgroup memory";
  if (matrix.getRank() != 2 || matrix.isScalable())
    return op.emitOpError("A must be a matrix of known size, got ") << matrix;
  if (failed(verifyRegisters(op, matrix)))
    return failure();
  int64_t k = matrix.getDimSize(1);
  if (k % stepOf16Bits != 0)
    return op.emitOpError("A has K = ")
           << k << ", but an instruction multiplies " << stepOf16Bits
           << " at a time";
  return Shape{element, matrix.getDimSize(0), k};
}

/// Verifies that A and B can be multiplied.
static LogicalResult verifyFactors(WgmmaOp op, const Shape &a, const Shape &b) {
  Type elementA = a.element, elementB = b.element;
  bool areBoth8Bits = (isFloatOf8Bits(elementA) && isFloatOf8Bits(elementB)) ||
                      (elementA.isInteger(8) && elementB.isInteger(8));
  if (elementA != elementB && !areBoth8Bits)
    return op.emitOpError("A has elements of type ")
           << elementA << ", B of type " << elementB
           << ": the hardware multiplies elements of the same type, or of the "
              "two types of 8-bit floats or integers";
  if (a.k != b.k)
    return op.emitOpError("A has K = ")
           << a.k << ", B has K = " << b.k
           << ": A is MxK (KxM with transpose_a), B is KxN (NxK with "
              "transpose_b)";
  return success();
}

/// Verifies that the products of `element` can be added to the accumulator.
static LogicalResult verifySum(WgmmaOp op, Type element, int64_t m, int64_t n) {
  VectorType sum = op.getAccumulator().getType().getFragmented();
  Type added = sum.getElementType();
  StringRef expected = "f32";
  bool isAdded = added.isF32();
  if (isFloatOf8Bits(element) || element.isF16()) {
    expected = "f32 or f16";
    isAdded |= added.isF16();
  } else if (element.isInteger(8)) {
    expected = "i32";
    isAdded = added.isSignlessInteger(32);
  }
  if (!isAdded)
    return op.emitOpError("adds products of ")
           << element << " in " << added << ", but the hardware adds them in "
           << expected;
  auto product = VectorType::get({m, n}, added);
  if (sum != product)
    return op.emitOpError("adds ")
           << product << " to the accumulator, which has " << sum;
  return success();
}

LogicalResult WgmmaOp::verify() {
  if (!getToken() && !getDependencies().empty())
    return emitOpError("has dependencies but no token: use the async form, or "
                       "wait before the multiplication");
  FailureOr<Shape> a = verifyA(*this);
  Factor factorB{"B", "N", getB().getType().getTensor(), getTransposeB()};
  if (failed(a) || failed(verifyFactor(*this, factorB)))
    return failure();
  Shape b = factorB.getShape();
  if (failed(verifyFactors(*this, *a, b)))
    return failure();

  int64_t m = a->size, n = b.size;
  if (m == 0 || m % rowsOfA != 0)
    return emitOpError("multiplies ")
           << m << " rows of A, but a warpgroup multiplies " << rowsOfA
           << " at a time";
  if (n == 0 || n > 256 || n % 8 != 0)
    return emitOpError("multiplies ")
           << n
           << " columns of B, but the hardware multiplies a multiple of 8 "
              "up to 256";
  if (a->element.isInteger(8) && n > 32 && n % 16 != 0)
    return emitOpError("multiplies ")
           << n
           << " columns of B, but of more than 32 columns of integers the "
              "hardware multiplies a multiple of 16";
  return verifySum(*this, a->element, m, n);
}

/// Verifies that `numbers` are what a thread has of `fragment`.
static LogicalResult verifyFragment(Operation *op,
                                    nvgpu::WarpgroupAccumulatorType fragment,
                                    Type numbers) {
  VectorType matrix = fragment.getFragmented();
  Type element = matrix.getElementType();
  if (matrix.getRank() != 2 || matrix.isScalable() ||
      matrix.getDimSize(0) % rowsOfA != 0 || matrix.getDimSize(1) % 8 != 0)
    return op->emitOpError("is of ")
           << matrix << ", but a warpgroup has matrices of a multiple of "
           << rowsOfA << " rows and of 8 columns in its registers";
  if (!element.isF32() && !element.isSignlessInteger(32) &&
      !isa<Float16Type, BFloat16Type>(element))
    return op->emitOpError("is of elements of type ")
           << element
           << ", but matrices in registers are of f32, f16, bf16 or i32";
  if (failed(verifyRegisters(op, matrix)))
    return failure();
  auto expected = VectorType::get(
      {matrix.getDimSize(0) / rowsOfA, matrix.getDimSize(1) / 8, 2, 2},
      element);
  if (numbers != expected)
    return op->emitOpError("is of ") << matrix << ", of which a thread has "
                                     << expected << ", not " << numbers;
  return success();
}

LogicalResult ReadFragmentOp::verify() {
  return verifyFragment(*this, getFragment().getType(), getNumbers().getType());
}

LogicalResult WriteFragmentOp::verify() {
  return verifyFragment(*this, getFragment().getType(), getNumbers().getType());
}
