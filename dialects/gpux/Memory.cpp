//===- Memory.cpp - What is known of memrefs and addresses ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Memory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace async_opt::gpux;

std::optional<int64_t> async_opt::gpux::getConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) ||
      constant.getSignificantBits() > 64)
    return std::nullopt;
  return constant.getSExtValue();
}

// MLIR's own way takes row-major layouts through affine maps, which is most of
// the time of verifying many copies.
LogicalResult async_opt::gpux::getLayout(MemRefType type,
                                         SmallVectorImpl<int64_t> &strides,
                                         int64_t &offset) {
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

void Congruence::add(uint64_t number) {
  remainder = (remainder + number) % modulus;
}

void Congruence::addMultipleOf(uint64_t factor) {
  modulus = std::gcd(modulus, factor);
  remainder %= modulus;
}

// All arithmetic wraps around, which keeps it exact modulo a power of two.
Congruence async_opt::gpux::getAddress(Value memref, ValueRange indices,
                                       uint64_t elementBytes,
                                       uint64_t modulus) {
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
  for (auto [index, stride] : llvm::zip(indices, strides)) {
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
