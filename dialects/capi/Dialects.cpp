//===- Dialects.cpp - C API of the async and gpux dialects ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Dialects.h"
#include "async/Async.h"
#include "gpux/Gpux.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace async_opt;

using DialectInserter = void (*)(DialectRegistry &);

/// What MLIR's C API asks of `DialectT`, which `insert` registers with what it
/// needs.
template <typename DialectT, DialectInserter insert>
static MlirDialectHandle getDialectHandle() {
  static const MlirDialectRegistrationHooks hooks = {
      [](MlirDialectRegistry registry) { insert(*unwrap(registry)); },
      [](MlirContext context) {
        DialectRegistry registry;
        insert(registry);
        unwrap(context)->appendDialectRegistry(registry);
        return wrap(static_cast<Dialect *>(
            unwrap(context)->getOrLoadDialect<DialectT>()));
      },
      []() { return wrap(DialectT::getDialectNamespace()); }};
  return {&hooks};
}

MlirDialectHandle asyncOptGetAsyncDialectHandle() {
  return getDialectHandle<async_opt::async::AsyncDialect,
                          async_opt::async::registerAsyncDialect>();
}

MlirDialectHandle asyncOptGetGpuxDialectHandle() {
  return getDialectHandle<gpux::GpuxDialect, gpux::registerGpuxDialect>();
}

bool asyncOptTypeIsToken(MlirType type) {
  return isa<async_opt::async::TokenType>(unwrap(type));
}

/// Returns true if `registry` has a dialect called `name` that is not the one
/// that `insert` would add. MLIR's registry does not tell the class behind a
/// name, so the dialect is made, in a context of its own, to ask it.
static bool isTakenByAnother(DialectRegistry &registry, StringRef name,
                             DialectInserter insert) {
  auto allocator = registry.getDialectAllocator(name);
  if (!allocator)
    return false;
  DialectRegistry ours;
  insert(ours);
  MLIRContext theirContext(MLIRContext::Threading::DISABLED);
  MLIRContext ourContext(ours, MLIRContext::Threading::DISABLED);
  return allocator(&theirContext)->getTypeID() !=
         ourContext.getOrLoadDialect(name)->getTypeID();
}

bool asyncOptRegisterDialects(MlirDialectRegistry registry,
                              void (*onError)(MlirStringRef, void *),
                              void *userData) {
  using Registration = std::pair<StringRef, void (*)(DialectRegistry &)>;
  for (auto [name, insert] :
       {Registration{async_opt::async::AsyncDialect::getDialectNamespace(),
                     async_opt::async::registerAsyncDialect},
        Registration{gpux::GpuxDialect::getDialectNamespace(),
                     gpux::registerGpuxDialect}}) {
    if (isTakenByAnother(*unwrap(registry), name, insert)) {
      std::string message =
          ("cannot register async-opt's dialect '" + name +
           "': the registry already has another dialect of that name (is it "
           "upstream MLIR's?)")
              .str();
      if (onError)
        onError(wrap(StringRef(message)), userData);
      return false;
    }
    insert(*unwrap(registry));
  }
  return true;
}
