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
/// The elements of 16 bits in a row of a box.
static constexpr int64_t boxElements = 64;
/// The bits of K that an instruction multiplies, and those of a register.
static constexpr int64_t stepBits = 256;
static constexpr int64_t registerBits = 32;

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

/// Returns true if matrices of `element` in registers are A alone: they lie
/// there in another way than an accumulator.
static bool isOfAAlone(Type element) {
  return isa<FloatTF32Type>(element) || isFloatOf8Bits(element) ||
         element.isInteger(8);
}

/// Returns the bits that an element takes in memory, or in a register.
static int64_t getBits(Type element) {
  return isa<FloatTF32Type>(element) ? registerBits
                                     : element.getIntOrFloatBitWidth();
}

/// Returns the K of an instruction that multiplies `element`.
static int64_t getStep(Type element) { return stepBits / getBits(element); }

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
  int64_t bits = getBits(element);
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
  if (factor.getK() == 0 || factor.getK() % getStep(element) != 0)
    return op.emitOpError(factor.name)
           << " has K = " << factor.getK() << ", but an instruction multiplies "
           << getStep(element) << " at a time";
  return success();
}

/// Verifies that the registers of the threads have room for `matrix`, M×N
/// elements of at most 32 bits.
static LogicalResult verifyRegisters(Operation *op, VectorType matrix) {
  // A size alone first, so that the product does not overflow.
  constexpr int64_t most = maxRegisters * threads;
  int64_t rows = matrix.getDimSize(0), columns = matrix.getDimSize(1);
  int64_t numbers = registerBits / getBits(matrix.getElementType());
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
  if (element.isF32())
    return op.emitOpError("A is in registers with elements of type ")
           << element
           << ", which lie there as those of an accumulator: write a matrix of "
              "tf32 by gpux.write_fragment, whose numbers are f32";
  if (!isa<Float16Type, BFloat16Type>(element) && !isOfAAlone(element))
    return op.emitOpError("A is in registers with elements of type ")
           << element
           << ", but those that can be multiplied from there are f16, bf16, "
              "tf32, f8E4M3FN, f8E5M2, i8 and ui8";
  if (matrix.getRank() != 2 || matrix.isScalable())
    return op.emitOpError("A must be a matrix of known size, got ") << matrix;
  if (failed(verifyRegisters(op, matrix)))
    return failure();
  int64_t k = matrix.getDimSize(1);
  if (k % getStep(element) != 0)
    return op.emitOpError("A has K = ")
           << k << ", but an instruction multiplies " << getStep(element)
           << " at a time";
  return Shape{element, matrix.getDimSize(0), k};
}

/// Verifies that A and B can be multiplied.
static LogicalResult verifyFactors(WgmmaOp op, const Shape &a, const Shape &b) {
  Type elementA = a.element, elementB = b.element;
  // A of tf32 in registers is f32 in memory.
  bool areBothTF32 = isa<FloatTF32Type>(elementA) && elementB.isF32();
  bool areBoth8Bits = (isFloatOf8Bits(elementA) && isFloatOf8Bits(elementB)) ||
                      (elementA.isInteger(8) && elementB.isInteger(8));
  if (elementA != elementB && !areBothTF32 && !areBoth8Bits)
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
  if (!isAdded) {
    InFlightDiagnostic diagnostic = op.emitOpError("adds products of ");
    diagnostic << element << " in " << added
               << ", but the hardware adds them in " << expected;
    if (isOfAAlone(added))
      diagnostic.attachNote()
          << "a matrix of " << added
          << " in registers is A: write what is added to, such as zeros, by "
             "gpux.write_fragment to a matrix of "
          << expected;
    return failure();
  }
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

/// Returns what a thread has of `matrix` in registers, which hold `32 / bits`
/// neighbors each of A, and two registers those of an accumulator.
static VectorType getNumbers(VectorType matrix) {
  Type element = matrix.getElementType();
  int64_t neighbors = isOfAAlone(element) ? registerBits / getBits(element) : 2;
  Type number = isa<FloatTF32Type>(element)
                    ? Float32Type::get(matrix.getContext())
                    : element;
  // Four threads have a row.
  return VectorType::get({matrix.getDimSize(0) / rowsOfA,
                          matrix.getDimSize(1) / (4 * neighbors), 2, neighbors},
                         number);
}

/// Verifies that `numbers` are what a thread has of `fragment`.
static LogicalResult verifyFragment(Operation *op,
                                    nvgpu::WarpgroupAccumulatorType fragment,
                                    Type numbers) {
  VectorType matrix = fragment.getFragmented();
  Type element = matrix.getElementType();
  if (!element.isF32() && !element.isSignlessInteger(32) &&
      !isa<Float16Type, BFloat16Type>(element) && !isOfAAlone(element))
    return op->emitOpError("is of elements of type ")
           << element
           << ", but matrices in registers are of f32, f16, bf16 or i32, and "
              "as A of a multiplication of tf32, f8E4M3FN, f8E5M2, i8 or ui8, "
              "too";
  int64_t columns = isOfAAlone(element) ? getStep(element) : 8;
  if (matrix.getRank() != 2 || matrix.isScalable() ||
      matrix.getDimSize(0) % rowsOfA != 0 ||
      matrix.getDimSize(1) % columns != 0)
    return op->emitOpError("is of ")
           << matrix << ", but a warpgroup has matrices of a multiple of "
           << rowsOfA << " rows and of " << columns
           << " columns in its registers";
  if (failed(verifyRegisters(op, matrix)))
    return failure();
  VectorType expected = getNumbers(matrix);
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
