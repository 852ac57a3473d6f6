//===- GpuxBulkOps.td - Block-wide operations of gpux ------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_BULK_OPS_TD
#define ASYNC_OPT_GPUX_BULK_OPS_TD

include "async/AsyncBase.td"
include "async/AsyncInterfaces.td"
include "gpux/GpuxBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Upstream's types. Including their definitions would make their enums ours.
def Gpux_TensorMap
    : Type<CPred<"::llvm::isa<::mlir::nvgpu::TensorMapDescriptorType>($_self)">,
           "tensor map descriptor", "::mlir::nvgpu::TensorMapDescriptorType">;
def Gpux_MBarriers
    : Type<CPred<"::llvm::isa<::mlir::nvgpu::MBarrierGroupType>($_self)">,
           "group of mbarriers", "::mlir::nvgpu::MBarrierGroupType">;

// The number of a warp: a block has at most 32.
def Gpux_Warp : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<31>]>;

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

class Gpux_LoadOp<string mnemonic, list<string> methods = []>
    : Gpux_Op<mnemonic, [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, methods # [
      "getDoneToken", "getExecutionScope", "getAsyncDestination"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let results = (outs Optional<Async_Token>:$token);

  code loadDeclaration = [{
    /// The number of bytes written to the destination, which are also those
    /// that the mbarrier counts.
    int64_t getTransferBytes();
  }];

  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Gpux_TmaLoadOp : Gpux_LoadOp<"tma_load"> {
  let summary = "loads a tile of a tensor from global to workgroup memory";
  let description = [{
    The Tensor Memory Accelerator (TMA, `cp.async.bulk.tensor`) loads the tile
    that starts at `indices` of the tensor that the descriptor describes into
    `dst`. Elements outside the tensor's bounds are 0 (or NaN, if the descriptor
    says so); they count as transferred.

    The descriptor is created on the host by upstream's
    `nvgpu.tma.create.descriptor`, and its type gives the shape of a *box*, the
    unit of transfer. The indices are in elements, in the order of the tensor's
    dimensions, outermost first, as for a `memref.load`.

    In token form, which every thread of the block executes:

    ```mlir
    !tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none,
                                        l2promo = none, oob = zero, interleave = none>
    func.func @load_tile(%tensor: !tile, %dst: memref<64x64xf16, #gpu.address_space<workgroup>>,
                         %i: index, %j: index) {
      %t = gpux.tma_load async %tensor[%i, %j], %dst
          : !tile, memref<64x64xf16, #gpu.address_space<workgroup>>
      async.await %t
      return
    }
    ```

    In issued form, which one thread executes, the load completes on an mbarrier
    whose phase counts the load's bytes:

    ```mlir
    !tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none,
                                        l2promo = none, oob = zero, interleave = none>
    !ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    func.func @issue_load(%tensor: !tile, %dst: memref<64x64xf16, #gpu.address_space<workgroup>>,
                          %i: index, %j: index, %ring: !ring, %slot: index) {
      %bytes = arith.constant 8192 : index
      nvgpu.mbarrier.arrive.expect_tx %ring[%slot], %bytes : !ring
      gpux.tma_load %tensor[%i, %j], %dst, %ring[%slot]
          : !tile, memref<64x64xf16, #gpu.address_space<workgroup>>, !ring
      return
    }
    ```

    In token form, `issuer` may name the warp that issues the load: one thread of
    it, which it elects. Without it, that is warp 0. A kernel whose loads name an
    issuer may have roles of warps (see the page on roles).

    A box has at most 256 elements in each dimension. A larger destination is
    loaded as several boxes: its outermost dimension (of those that are not 1) may
    be a multiple of the box's, so that each box is contiguous in it.

    The verifier checks the requirements of the hardware:

    - the tensor has 1 to 5 dimensions, and a supported element type: integers of
      8, 16, 32 or 64 bits, `f16`, `bf16`, `f32`, `f64`, or floats of 8 bits;
    - a box has 1 to 256 elements in each dimension; the size of its innermost row
      is a multiple of 16 bytes, or with a swizzle exactly the size of the swizzle
      (32, 64 or 128 bytes); there is no interleave;
    - the destination is in workgroup memory, contiguous, and aligned to 128 bytes;
      if it consists of several boxes, each of them is aligned to 128 bytes.

    (CUDA driver API, `cuTensorMapEncodeTiled`; PTX ISA, Tensors and Data movement
    instructions: cp.async.bulk.tensor.)
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       Gpux_TensorMap:$tensor,
                       Variadic<Index>:$indices,
                       AnyMemRef:$dst,
                       Optional<Gpux_MBarriers>:$barriers,
                       Optional<Index>:$slot,
                       OptionalAttr<Gpux_Warp>:$issuer);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    $tensor `[` $indices `]` `,` $dst (`,` $barriers^ `[` $slot `]`)? attr-dict
    `:` qualified(type($tensor)) `,` type($dst) (`,` type($barriers)^)?
  }];
  let extraClassDeclaration = loadDeclaration;
}

def Gpux_BulkLoadOp : Gpux_LoadOp<"bulk_load", ["getAsyncSource"]> {
  let summary = "copies contiguous memory from global to workgroup memory";
  let description = [{
    Copies `src` to `dst` (`cp.async.bulk`). Both have to be contiguous and of
    static shape.

    In token form, which every thread of the block executes:

    ```mlir
    func.func @load_line(%src: memref<1024xf32>, %dst: memref<1024xf32, #gpu.address_space<workgroup>>) {
      %t = gpux.bulk_load async %src, %dst
          : memref<1024xf32> to memref<1024xf32, #gpu.address_space<workgroup>>
      async.await %t
      return
    }
    ```

    In token form, `issuer` may name the warp that issues the copy, as for
    `gpux.tma_load`.

    In issued form, which one thread executes:

    ```mlir
    !ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    func.func @issue_line(%src: memref<1024xf32>, %dst: memref<1024xf32, #gpu.address_space<workgroup>>,
                          %ring: !ring, %slot: index) {
      %bytes = arith.constant 4096 : index
      nvgpu.mbarrier.arrive.expect_tx %ring[%slot], %bytes : !ring
      gpux.bulk_load %src, %dst, %ring[%slot]
          : memref<1024xf32> to memref<1024xf32, #gpu.address_space<workgroup>>, !ring
      return
    }
    ```

    The verifier checks the requirements of the hardware: the source is in global
    and the destination in workgroup memory, both are aligned to 16 bytes, and the
    size is a multiple of 16 bytes and less than 1 MiB, which is the most that an
    mbarrier can count.

    (PTX ISA, Data movement instructions: cp.async.bulk.)
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyMemRef:$src,
                       AnyMemRef:$dst,
                       Optional<Gpux_MBarriers>:$barriers,
                       Optional<Index>:$slot,
                       OptionalAttr<Gpux_Warp>:$issuer);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    $src `,` $dst (`,` $barriers^ `[` $slot `]`)? attr-dict
    `:` type($src) `to` type($dst) (`,` type($barriers)^)?
  }];
  let extraClassDeclaration = loadDeclaration;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

class Gpux_StoreOp<string mnemonic, list<Trait> traits = [],
                   list<string> methods = []>
    : Gpux_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Async_CompletionOpInterface, methods # [
          "getDoneToken", "getReadToken", "getExecutionScope",
          "getAsyncSource"]>]> {
  let results = (outs Variadic<Async_Token>:$tokens);

  code storeDeclaration = [{
    /// Complete when the source may be reused; null in issued form.
    ::mlir::Value getRead() {
      return getTokens().empty() ? ::mlir::Value() : getTokens()[0];
    }
    /// Complete when the destination is written; null in issued form.
    ::mlir::Value getDone() {
      return getTokens().empty() ? ::mlir::Value() : getTokens()[1];
    }
  }];

  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Gpux_TmaStoreOp : Gpux_StoreOp<"tma_store", [AttrSizedOperandSegments]> {
  let summary = "stores a tile of a tensor from workgroup to global memory";
  let description = [{
    The counterpart of `gpux.tma_load`: stores `src` to the tile that starts at
    `indices`. Elements outside the tensor's bounds are not written.

    In token form, which every thread of the block executes, it has two tokens:
    when the first is complete, `src` has been read and may be reused; when the
    second is complete, the tensor has been written.

    ```mlir
    !tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none,
                                        l2promo = none, oob = zero, interleave = none>
    func.func @store_tile(%src: memref<64x64xf16, #gpu.address_space<workgroup>>, %tensor: !tile,
                          %i: index, %j: index) {
      %read, %done = gpux.tma_store async %src, %tensor[%i, %j]
          : memref<64x64xf16, #gpu.address_space<workgroup>>, !tile
      async.await %read
      return
    }
    ```

    In issued form the op joins the open group of the `bulk` queue of the thread
    that executes it:

    ```mlir
    !tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none,
                                        l2promo = none, oob = zero, interleave = none>
    func.func @issue_store(%src: memref<64x64xf16, #gpu.address_space<workgroup>>, %tensor: !tile,
                           %i: index, %j: index) {
      gpux.tma_store %src, %tensor[%i, %j] : memref<64x64xf16, #gpu.address_space<workgroup>>, !tile
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 0 read
      return
    }
    ```

    The rules for the tensor, the box and the memref are those of `gpux.tma_load`.
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyMemRef:$src,
                       Gpux_TensorMap:$tensor,
                       Variadic<Index>:$indices);
  let assemblyFormat = [{
    custom<AsyncStoreClause>(type($tokens), $dependencies) ``
    $src `,` $tensor `[` $indices `]` attr-dict `:` type($src) `,` qualified(type($tensor))
  }];
  let extraClassDeclaration = storeDeclaration;
}

def Gpux_BulkStoreOp
    : Gpux_StoreOp<"bulk_store", [], ["getAsyncDestination"]> {
  let summary = "copies contiguous memory from workgroup to global memory";
  let description = [{
    The counterpart of `gpux.bulk_load`, with the tokens of `gpux.tma_store`:

    ```mlir
    func.func @store_line(%src: memref<1024xf32, #gpu.address_space<workgroup>>, %dst: memref<1024xf32>) {
      %read, %done = gpux.bulk_store async %src, %dst
          : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
      async.await %read
      return
    }
    ```

    In issued form it joins the open group of the `bulk` queue:

    ```mlir
    func.func @issue_line(%src: memref<1024xf32, #gpu.address_space<workgroup>>, %dst: memref<1024xf32>) {
      gpux.bulk_store %src, %dst : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 0 read
      return
    }
    ```
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyMemRef:$src,
                       AnyMemRef:$dst);
  let assemblyFormat = [{
    custom<AsyncStoreClause>(type($tokens), $dependencies) ``
    $src `,` $dst attr-dict `:` type($src) `to` type($dst)
  }];
  let extraClassDeclaration = storeDeclaration;
}

//===----------------------------------------------------------------------===//
// Who issues
//===----------------------------------------------------------------------===//

def Gpux_ElectOp : Gpux_Op<"elect", [
    Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let summary = "true in the one thread of a block that issues for all";
  let description = [{
    True in one thread of the first warp, or of warp `warp`, the same one wherever
    the op is, and false in all others. On the hardware, the thread is elected once, at the start
    of the function, by an `elect.sync` of the whole warp. (If `known_block_size`
    says that a block has less than a warp, it is the first thread.)

    ```mlir
    func.func @issue_line(%src: memref<1024xf32, #gpu.address_space<workgroup>>, %dst: memref<1024xf32>) {
      %leader = gpux.elect
      scf.if %leader {
        gpux.bulk_store %src, %dst : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
      }
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 0 read
      return
    }
    ```

    (PTX ISA, Parallel synchronization and communication instructions: elect.sync.)
  }];

  let arguments = (ins OptionalAttr<Gpux_Warp>:$warp);
  let results = (outs I1:$leader);
  let assemblyFormat = "attr-dict";
}

#endif // ASYNC_OPT_GPUX_BULK_OPS_TD
