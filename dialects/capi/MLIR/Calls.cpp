//===- Calls.cpp - Calls, and inlining them -------------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Calls.h"

#include "support/MemorySpaces.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace async_opt;

/// Returns true if `terminator` of a function's body returns from it.
static bool isReturn(Operation *terminator) {
  return terminator->hasTrait<OpTrait::ReturnLike>() ||
         isa<RegionBranchTerminatorOpInterface>(terminator);
}

namespace {
/// Inlines whatever it is told to: dialects that know nothing of inlining
/// (nvvm, nvgpu, the body of a gpu.func) don't keep a body from standing
/// elsewhere. What the call and the function say of themselves is respected.
struct AnyInliner : public InlinerInterface {
  using InlinerInterface::InlinerInterface;

  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *call, Operation *callable,
                       bool wouldBeCloned) const final {
    return InlinerInterface::isLegalToInline(call, callable, wouldBeCloned);
  }
  bool shouldAnalyzeRecursively(Operation *) const final { return false; }

  /// Branches stay as they are.
  void handleTerminator(Operation *op, Block *newDest) const final {
    if (isReturn(op))
      InlinerInterface::handleTerminator(op, newDest);
  }
  void handleTerminator(Operation *op, ValueRange results) const final {
    InlinerInterface::handleTerminator(op, results);
  }

  /// Returns true if every way out of `region` can become one to what
  /// follows a call.
  bool knowsExits(Region &region) const {
    return llvm::all_of(region, [&](Block &block) {
      if (!block.mightHaveTerminator())
        return false;
      Operation *terminator = block.getTerminator();
      if (isReturn(terminator))
        return getInterfaceFor(terminator) != nullptr;
      return !region.hasOneBlock();
    });
  }
};
} // namespace

/// Moves buffers on the stack, of which a call had one while it ran, to the
/// start of the function around `op`: left in a loop, each iteration would push
/// one.
static void moveToEntry(Operation *op, ArrayRef<memref::AllocaOp> buffers) {
  while (op && !isa<FunctionOpInterface>(op))
    op = op->getParentOp();
  if (!op)
    return;
  Block &entry = op->getRegion(0).front();
  for (memref::AllocaOp buffer : buffers)
    buffer->moveBefore(&entry, entry.begin());
}

bool asyncOptIsCall(MlirOperation op) {
  return isa<CallOpInterface>(unwrap(op));
}

MlirStringRef asyncOptCallGetCalleeName(MlirOperation op) {
  auto call = dyn_cast<CallOpInterface>(unwrap(op));
  if (!call)
    return wrap(StringRef());
  auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
  bool isHere = symbol && symbol.getNestedReferences().empty();
  return wrap(isHere ? symbol.getRootReference().getValue() : StringRef());
}

AsyncOptInlined asyncOptInlineCall(MlirOperation op, MlirOperation callee) {
  auto call = cast<CallOpInterface>(unwrap(op));
  auto callable = cast<CallableOpInterface>(unwrap(callee));
  Region *body = callable.getCallableRegion();
  AnyInliner inliner(call->getContext());
  if (!body || body->empty() || !inliner.knowsExits(*body) ||
      !inliner.isLegalToInline(call, callable, /*wouldBeCloned=*/true))
    return ASYNC_OPT_INLINED_NOT_LEGAL;
  bool oneBlockOnly = call->getParentOp()->hasTrait<OpTrait::SingleBlock>();
  if (oneBlockOnly && !body->hasOneBlock())
    return ASYNC_OPT_INLINED_NOT_SEVERAL_BLOCKS;

  SmallVector<memref::AllocaOp> buffers;
  auto clone = [&](OpBuilder &, Region *source, Block *block, Block *after,
                   IRMapping &mapping, bool) {
    source->cloneInto(block->getParent(), after->getIterator(), mapping);
    for (auto buffer :
         mapping.lookup(&source->front())->getOps<memref::AllocaOp>())
      if (buffer->getNumOperands() == 0 &&
          !isWorkgroupMemory(buffer.getType().getMemorySpace()))
        buffers.push_back(buffer);
  };
  if (failed(inlineCall(inliner, clone, call, callable, body)))
    return ASYNC_OPT_INLINED_NOT_LEGAL;
  moveToEntry(call->getParentOp(), buffers);
  return ASYNC_OPT_INLINED;
}

bool asyncOptForEachSymbolUse(MlirOperation table,
                              void (*callback)(MlirStringRef, void *),
                              void *userData) {
  bool known = true;
  for (Region &region : unwrap(table)->getRegions()) {
    auto uses = SymbolTable::getSymbolUses(&region);
    known &= uses.has_value();
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses)
      callback(wrap(use.getSymbolRef().getRootReference().getValue()),
               userData);
  }
  return known;
}

bool asyncOptSymbolIsPrivate(MlirOperation op) {
  auto symbol = dyn_cast<SymbolOpInterface>(unwrap(op));
  return symbol && symbol.isPrivate();
}
