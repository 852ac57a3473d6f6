//===- AsyncUpstream.cpp - Our tokens in upstream's async dialect ---------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream MLIR has a dialect `async`, too, and a context has at most one
// dialect of a name. Where it is upstream's, its `async.await` and ours mean
// the same, and tokens are of the same type. What it lacks is added here:
// operations that it does not have, since MLIR can't replace any.
//
//===----------------------------------------------------------------------===//

#include "async/Async.h"

#include "mlir/Dialect/Async/IR/Async.h"

using namespace mlir;
using namespace async_opt::async;

namespace {
/// Derives from the base class because `async` may be either of two classes,
/// which only the TypeID of the loaded dialect tells.
class UpstreamExtension final : public DialectExtensionBase {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UpstreamExtension)

  UpstreamExtension()
      : DialectExtensionBase(ArrayRef<StringRef>(
            mlir::async::AsyncDialect::getDialectNamespace())) {}

  void apply(MLIRContext *context,
             MutableArrayRef<Dialect *> dialects) const override {
    Dialect &dialect = *dialects.front();
    if (dialect.getTypeID() == TypeID::get<mlir::async::AsyncDialect>())
      addOperations<ReadyOp, JoinOp>(dialect);
  }

  std::unique_ptr<DialectExtensionBase> clone() const override {
    return std::make_unique<UpstreamExtension>(*this);
  }

private:
  /// Adds those that nobody has added. To add an operation twice ends the
  /// process.
  template <typename... OpTs> static void addOperations(Dialect &dialect) {
    auto add = [&](auto *op) {
      using OpT = std::remove_pointer_t<decltype(op)>;
      StringRef name = OpT::getOperationName();
      if (!RegisteredOperationName::lookup(name, dialect.getContext()))
        RegisteredOperationName::insert<OpT>(dialect);
    };
    (add(static_cast<OpTs *>(nullptr)), ...);
  }
};
} // namespace

void async_opt::async::registerUpstreamExtension(DialectRegistry &registry) {
  registry.addExtensions<UpstreamExtension>();
}
