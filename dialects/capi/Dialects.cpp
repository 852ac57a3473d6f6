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
#include "transform/AsyncTransformOps.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"

#include <optional>

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

MlirType asyncOptTypeGetAsyncValueElement(MlirType type) {
  auto value = dyn_cast<mlir::async::ValueType>(unwrap(type));
  return wrap(value ? value.getValueType() : Type());
}

MlirType asyncOptTypeGetAsyncValue(MlirType element) {
  return wrap(mlir::async::ValueType::get(unwrap(element)));
}

bool asyncOptTypeIsAsyncGroup(MlirType type) {
  return isa<mlir::async::GroupType>(unwrap(type));
}

MlirAttribute asyncOptQueueAttrGet(MlirContext context, MlirStringRef name) {
  std::optional<gpux::Queue> queue = gpux::symbolizeQueue(unwrap(name));
  return wrap(queue ? gpux::QueueAttr::get(unwrap(context), *queue)
                    : gpux::QueueAttr());
}

bool asyncOptHasUpstreamAsync(MlirContext context) {
  Dialect *dialect = unwrap(context)->getLoadedDialect(
      async_opt::async::AsyncDialect::getDialectNamespace());
  return dialect &&
         dialect->getTypeID() == TypeID::get<mlir::async::AsyncDialect>();
}

bool asyncOptVerifyAttributes(MlirOperation op) {
  return llvm::all_of(
      unwrap(op)->getDiscardableAttrs(), [op](NamedAttribute attribute) {
        return !attribute.getName().strref().starts_with("async.") ||
               succeeded(
                   async_opt::async::verifyAttribute(unwrap(op), attribute));
      });
}

/// The class of the dialect called `name` in `registry`, if there is one.
/// MLIR's registry does not tell, so the dialect is made, in a context of its
/// own, to ask it.
static std::optional<TypeID> getDialectClass(DialectRegistry &registry,
                                             StringRef name) {
  auto allocator = registry.getDialectAllocator(name);
  if (!allocator)
    return std::nullopt;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  return allocator(&context)->getTypeID();
}

namespace {
/// A dialect of ours, and who else may have its name.
struct Registration {
  StringRef name;
  TypeID typeID;
  DialectInserter insert;
  /// A dialect that takes its place where it is there already.
  std::optional<TypeID> substitute;
};
} // namespace

static bool registerUnlessTaken(MlirDialectRegistry registry,
                                ArrayRef<Registration> dialects,
                                void (*onError)(MlirStringRef, void *),
                                void *userData) {
  for (const Registration &dialect : dialects) {
    std::optional<TypeID> present =
        getDialectClass(*unwrap(registry), dialect.name);
    if (present && present == dialect.substitute)
      continue;
    if (present && *present != dialect.typeID) {
      std::string message =
          ("cannot register async-opt's dialect '" + dialect.name +
           "': the registry already has another dialect of that name" +
           (dialect.substitute ? "" : " (is it upstream MLIR's?)"))
              .str();
      if (onError)
        onError(wrap(StringRef(message)), userData);
      return false;
    }
    dialect.insert(*unwrap(registry));
  }
  return true;
}

static Registration getAsync(std::optional<TypeID> substitute) {
  return {async_opt::async::AsyncDialect::getDialectNamespace(),
          TypeID::get<async_opt::async::AsyncDialect>(),
          async_opt::async::registerAsyncDialect, substitute};
}

static Registration getGpux() {
  return {gpux::GpuxDialect::getDialectNamespace(),
          TypeID::get<gpux::GpuxDialect>(), gpux::registerGpuxDialect,
          std::nullopt};
}

bool asyncOptRegisterDialects(MlirDialectRegistry registry,
                              void (*onError)(MlirStringRef, void *),
                              void *userData) {
  return registerUnlessTaken(registry, {getAsync(std::nullopt), getGpux()},
                             onError, userData);
}

bool asyncOptRegisterDialectsBesideUpstream(MlirDialectRegistry registry,
                                            void (*onError)(MlirStringRef,
                                                            void *),
                                            void *userData) {
  TypeID upstream = TypeID::get<mlir::async::AsyncDialect>();
  if (!registerUnlessTaken(registry, {getAsync(upstream), getGpux()}, onError,
                           userData))
    return false;
  registerTransformExtension(*unwrap(registry));
  return true;
}

static AsyncOptKernelSerializer kernelSerializer = nullptr;

static LogicalResult serializeKernels(Operation *module,
                                      SmallVectorImpl<char> &bytes) {
  auto append = [](MlirStringRef part, void *data) {
    auto &all = *static_cast<SmallVectorImpl<char> *>(data);
    all.append(part.data, part.data + part.length);
  };
  return success(kernelSerializer(wrap(module), append, &bytes));
}

void asyncOptSetKernelSerializer(AsyncOptKernelSerializer serializer) {
  kernelSerializer = serializer;
  gpux::setKernelSerializer(serializer ? serializeKernels : nullptr);
}
