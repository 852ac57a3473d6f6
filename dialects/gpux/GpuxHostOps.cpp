//===- GpuxHostOps.cpp - Operations of the gpux dialect on the host -------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"
#include "gpux/Memory.h"
#include "support/MemorySpaces.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace async_opt::gpux;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static void setTokenName(Value token, OpAsmSetValueNameFn setNameFn) {
  if (token)
    setNameFn(token, "token");
}

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getMemref(), "memref");
  setTokenName(getToken(), setNameFn);
}

void HostAllocOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getMemref(), "memref");
  setTokenName(getToken(), setNameFn);
}

void DeallocOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setTokenName(getToken(), setNameFn);
}

void TransferOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  if (getResult())
    setNameFn(getResult(), "result");
  setTokenName(getToken(), setNameFn);
}

void MemsetOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setTokenName(getToken(), setNameFn);
}

void AsyncLaunchOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setTokenName(getToken(), setNameFn);
}

template <typename OpTy>
static LogicalResult simplifyDependencies(OpTy op, RewriterBase &rewriter) {
  return success(
      async_opt::async::simplifyTokens(op.getDependenciesMutable(), rewriter));
}

LogicalResult AllocOp::canonicalize(AllocOp op, PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

LogicalResult HostAllocOp::canonicalize(HostAllocOp op,
                                        PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

LogicalResult DeallocOp::canonicalize(DeallocOp op, PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

LogicalResult TransferOp::canonicalize(TransferOp op,
                                       PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

LogicalResult MemsetOp::canonicalize(MemsetOp op, PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

LogicalResult AsyncLaunchOp::canonicalize(AsyncLaunchOp op,
                                          PatternRewriter &rewriter) {
  return simplifyDependencies(op, rewriter);
}

/// Verifies that dependencies come with a token: in generic form nothing else
/// keeps an operation that the host waits for from having some.
template <typename OpTy> static LogicalResult verifyDependencies(OpTy op) {
  if (!op.getToken() && !op.getDependencies().empty())
    return op.emitOpError("has dependencies, but returns no token: without "
                          "'async', await them before the op");
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns where a buffer of this type is; nothing if neither the host nor the
/// device can transfer or free it.
static std::optional<Place> getPlace(BaseMemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return Place::Host;
  if (async_opt::isGlobalMemory(space))
    return Place::Device;
  return std::nullopt;
}

/// Returns how the memory space of a place is written.
static StringRef getSpaceText(Place place) {
  return place == Place::Host
             ? "the host's memory (the default memory space)"
             : "the device's memory (#gpu.address_space<global>)";
}

template <typename OpTy>
static LogicalResult verifyAlloc(OpTy op, Place place) {
  if (failed(verifyDependencies(op)))
    return failure();
  MemRefType type = op.getMemref().getType();
  if (getPlace(type) != place)
    return op.emitOpError("allocates ")
           << getSpaceText(place) << ", but returns " << type;
  if (!type.getLayout().isIdentity())
    return op.emitOpError("returns ")
           << type
           << ", but what is allocated is contiguous: take a view of it";
  if (op.getDynamicSizes().size() !=
      static_cast<size_t>(type.getNumDynamicDims()))
    return op.emitOpError("has ")
           << op.getDynamicSizes().size() << " sizes, but " << type << " needs "
           << type.getNumDynamicDims();
  return success();
}

LogicalResult AllocOp::verify() { return verifyAlloc(*this, Place::Device); }

LogicalResult HostAllocOp::verify() { return verifyAlloc(*this, Place::Host); }

LogicalResult DeallocOp::verify() {
  if (failed(verifyDependencies(*this)))
    return failure();
  if (!getPlace(getMemref().getType()))
    return emitOpError("can't free ")
           << getMemref().getType()
           << ", which is neither in the host's nor in the device's memory";
  return success();
}

LogicalResult MemsetOp::verify() {
  if (failed(verifyDependencies(*this)))
    return failure();
  auto type = cast<BaseMemRefType>(getDst().getType());
  if (getPlace(type) != Place::Device)
    return emitOpError("sets ")
           << type << ", which is not in " << getSpaceText(Place::Device);
  if (!type.getElementType().isIntOrIndexOrFloat())
    return emitOpError("sets elements of type ")
           << type.getElementType()
           << ", which are neither integers nor floating-point numbers";
  return success();
}

//===----------------------------------------------------------------------===//
// TransferOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyTransferOfTensor(TransferOp op) {
  Type type = op.getSrc().getType();
  if (op.getDst())
    return op.emitOpError("transfers a tensor, which goes to no buffer: write "
                          "'to host' or 'to device'");
  if (!op.getTo())
    return op.emitOpError(
        "transfers a tensor, but does not say where to: write "
        "'to host' or 'to device'");
  if (op.getResult().getType() != type)
    return op.emitOpError("returns ")
           << op.getResult().getType() << ", but transfers " << type;
  return success();
}

LogicalResult TransferOp::verify() {
  if (failed(verifyDependencies(*this)))
    return failure();
  if (!getDst() == !getResult())
    return emitOpError("needs either a destination or a result");
  if (isa<TensorType>(getSrc().getType()))
    return verifyTransferOfTensor(*this);

  auto srcType = cast<MemRefType>(getSrc().getType());
  auto dstType = dyn_cast<MemRefType>(getDstType());
  if (!dstType)
    return emitOpError("transfers ") << srcType << " to " << getDstType();
  std::optional<Place> from = getPlace(srcType), to = getPlace(dstType);
  for (auto [place, type] : {std::pair(from, srcType), std::pair(to, dstType)})
    if (!place)
      return emitOpError("can't transfer ")
             << type
             << ", which is neither in the host's nor in the device's memory";
  if (from == Place::Host && to == Place::Host)
    return emitOpError("transfers from host to host: use 'memref.copy'");
  if (srcType.getElementType() != dstType.getElementType() ||
      failed(verifyCompatibleShape(srcType, dstType)))
    return emitOpError("transfers ")
           << srcType << " to " << dstType
           << ", which has another shape or element type";
  if (getDst() && getTo())
    return emitOpError("has a destination, whose type says where it is: drop "
                       "'to ")
           << stringifyPlace(*getTo()) << "'";
  if (getDst())
    return success();
  if (getTo() != to)
    return emitOpError("returns ")
           << dstType << ", which is in the " << stringifyPlace(*to)
           << "'s memory: write 'to " << stringifyPlace(*to) << "'";
  if (!dstType.getLayout().isIdentity())
    return emitOpError("returns ")
           << dstType << ", but a new buffer is contiguous";
  if (srcType.getShape() != dstType.getShape())
    return emitOpError("returns ")
           << dstType << ", but a new buffer has the shape of " << srcType;
  return success();
}

//===----------------------------------------------------------------------===//
// AsyncLaunchOp
//===----------------------------------------------------------------------===//

/// Verifies that there is a size for each dimension. What they are is for the
/// runtime to check: passes put constants in code that is never executed.
static LogicalResult verifySizes(AsyncLaunchOp op, StringRef what,
                                 OperandRange sizes) {
  if (sizes.size() == 3)
    return success();
  return op.emitOpError("has ")
         << sizes.size() << " sizes of '" << what << "', one for each of "
         << "three dimensions is needed (1 where there is but one)";
}

LogicalResult AsyncLaunchOp::verify() {
  if (failed(verifyDependencies(*this)) ||
      failed(verifySizes(*this, "blocks", getBlocks())) ||
      failed(verifySizes(*this, "threads", getThreads())))
    return failure();
  if (getClusters().empty())
    return success();
  return verifySizes(*this, "clusters", getClusters());
}

/// Verifies the types of the arguments of a kernel.
static LogicalResult verifyArguments(AsyncLaunchOp op, gpu::GPUFuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  OperandRange operands = op.getKernelOperands();
  if (operands.size() != types.size())
    return op.emitOpError("passes ")
           << operands.size() << " arguments, but " << op.getKernel()
           << " takes " << types.size();
  for (auto [i, operand, type] : llvm::enumerate(operands, types))
    if (operand.getType() != type)
      return op.emitOpError("passes ")
             << operand.getType() << " as argument #" << i << ", but "
             << op.getKernel() << " takes " << type;
  return success();
}

LogicalResult
AsyncLaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  SymbolRefAttr kernel = getKernel();
  if (kernel.getNestedReferences().size() != 1)
    return emitOpError("launches ")
           << kernel << ", but a kernel is named by its module and its name: "
           << "@module::@kernel";
  Operation *container =
      symbolTable.lookupNearestSymbolFrom(*this, kernel.getRootReference());
  // What a kernel takes can't be read from its binary.
  if (isa_and_nonnull<gpu::BinaryOp>(container))
    return success();
  if (!isa_and_nonnull<gpu::GPUModuleOp>(container))
    return emitOpError("launches ")
           << kernel << ", but no 'gpu.module' or 'gpu.binary' "
           << kernel.getRootReference() << " is in scope";
  Operation *symbol = symbolTable.lookupNearestSymbolFrom(*this, kernel);
  if (!symbol)
    return emitOpError("launches ")
           << kernel << ", but its module has no kernel of that name";
  bool isKernel = symbol->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) &&
                  isa<gpu::GPUFuncOp, LLVM::LLVMFuncOp>(symbol);
  if (!isKernel) {
    InFlightDiagnostic diag = emitOpError("launches ")
                              << kernel << ", which is not a kernel";
    diag.attachNote(symbol->getLoc())
        << "it is this '" << symbol->getName() << "'";
    return diag;
  }
  if (auto gpuFunc = dyn_cast<gpu::GPUFuncOp>(symbol))
    return verifyArguments(*this, gpuFunc);
  return success();
}
