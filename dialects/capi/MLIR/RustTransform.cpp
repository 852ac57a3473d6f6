//===- RustTransform.cpp - Transforms written outside C++ -----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLIR/RustTransform.h"
#include "AsyncOpt-c/MLIR/Transform.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace {

/// What the handles of a transform script point to, and what a transform says.
struct Reply {
  /// Operations of the payload that a handle points to.
  SetVector<Operation *> inHandles;
  transform::TransformState &state;
  transform::TransformRewriter &rewriter;
  SmallVectorImpl<Operation *> &results;
  SmallVector<Diagnostic> refused;
};

} // namespace

static Reply &unwrap(AsyncOptTransformReply reply) {
  return *static_cast<Reply *>(reply.ptr);
}

/// All transforms, by the name of the operation.
static llvm::StringMap<AsyncOptTransform> &getTransforms() {
  static llvm::StringMap<AsyncOptTransform> transforms;
  return transforms;
}

void asyncOptRegisterTransform(MlirStringRef name, AsyncOptTransform apply) {
  getTransforms()[unwrap(name)] = apply;
}

void asyncOptTransformAddResult(AsyncOptTransformReply reply,
                                MlirOperation op) {
  unwrap(reply).results.push_back(unwrap(op));
}

void asyncOptTransformRefuse(AsyncOptTransformReply reply, MlirOperation op,
                             MlirLocation location, MlirStringRef message,
                             const AsyncOptNote *notes, intptr_t numNotes) {
  Diagnostic diagnostic(unwrap(location), DiagnosticSeverity::Error);
  if (!mlirOperationIsNull(op))
    diagnostic << "'" << unwrap(op)->getName() << "' op ";
  diagnostic << unwrap(message);
  for (const AsyncOptNote &note : llvm::ArrayRef(notes, numNotes))
    diagnostic.attachNote(unwrap(note.location)) << unwrap(note.message);
  unwrap(reply).refused.push_back(std::move(diagnostic));
}

void asyncOptTransformForgetErased(AsyncOptTransformReply reply) {
  Reply &all = unwrap(reply);
  all.state.getTopLevel()->walk(
      [&](Operation *op) { all.inHandles.remove(op); });
  auto *listener =
      static_cast<RewriterBase::Listener *>(all.rewriter.getListener());
  for (Operation *erased : all.inHandles)
    listener->notifyOperationErased(erased);
}

DiagnosedSilenceableFailure async_opt::applyRustTransform(
    Operation *transform, ArrayRef<Operation *> payload,
    transform::TransformRewriter &rewriter, transform::TransformState &state,
    SmallVectorImpl<Operation *> &results) {
  AsyncOptTransform apply =
      getTransforms().lookup(transform->getName().getStringRef());
  if (!apply)
    return emitDefiniteFailure(
        transform, "is not registered: load the passes of async-opt, too "
                   "(--load-pass-plugin)");

  Reply reply{{}, state, rewriter, results, {}};
  state.getTopLevel()->walk([&](Operation *op) {
    SmallVector<Value> handles;
    if (succeeded(state.getHandlesForPayloadOp(op, handles)))
      reply.inHandles.insert(op);
  });
  SmallVector<MlirOperation> ops =
      llvm::map_to_vector(payload, [](Operation *op) { return wrap(op); });
  if (!apply(wrap(transform), ops.data(), ops.size(),
             AsyncOptTransformReply{&reply}))
    return DiagnosedSilenceableFailure::definiteFailure();
  if (reply.refused.empty())
    return DiagnosedSilenceableFailure::success();
  return DiagnosedSilenceableFailure::silenceableFailure(
      std::move(reply.refused));
}
