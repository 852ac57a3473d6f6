//===- Memory.h - What is known of memrefs and addresses --------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_MEMORY_H
#define ASYNC_OPT_GPUX_MEMORY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ValueRange.h"
#include <optional>

namespace async_opt::gpux {

/// The value of `value`, if it is a constant that fits.
std::optional<int64_t> getConstant(mlir::Value value);

/// Sets the strides and the offset of `type`, in elements.
llvm::LogicalResult getLayout(mlir::MemRefType type,
                              llvm::SmallVectorImpl<int64_t> &strides,
                              int64_t &offset);

/// The set of all numbers that are equal to `remainder` modulo `modulus`, which
/// is a power of two.
struct Congruence {
  uint64_t modulus;
  uint64_t remainder = 0;

  /// Adds a known number.
  void add(uint64_t number);

  /// Adds a number of which only a factor is known.
  void addMultipleOf(uint64_t factor);
};

/// Returns what is known of the byte address of an access modulo the power of
/// two `modulus`, if the buffer itself is aligned. `indices` may be empty: it
/// is then the start of the memref.
Congruence getAddress(mlir::Value memref, mlir::ValueRange indices,
                      uint64_t elementBytes, uint64_t modulus);

} // namespace async_opt::gpux

#endif // ASYNC_OPT_GPUX_MEMORY_H
