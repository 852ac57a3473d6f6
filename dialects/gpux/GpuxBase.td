//===- GpuxBase.td - The gpux dialect and its attributes ---*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_BASE_TD
#define ASYNC_OPT_GPUX_BASE_TD

include "mlir/Dialect/GPU/IR/CompilationAttrInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Gpux_Dialect : Dialect {
  let name = "gpux";
  let cppNamespace = "::async_opt::gpux";

  let summary = "Asynchronous operations of the GPU, with tokens and with counts";
  let description = [{
    The `gpux` dialect has the device's asynchronous operations in two forms:

    - **token form**, `gpux.copy async`: the op returns a `!async.token`, which
      `async.await` waits for. This is what people and front ends write.
    - **counted form**: what the hardware does. A copy joins the *open group* of
      its queue, `gpux.commit_group` closes that group, and `gpux.wait_group`
      blocks until at most a given number of the most recently closed groups are
      in flight.

    ```mlir
    func.func @token_form(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) {
      %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      async.await %t
      return
    }

    func.func @counted_form(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) {
      gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 0
      return
    }
    ```

    A queue (`#gpux.queue`) is one of the hardware's FIFOs of groups, which exist
    once per thread (`cp_async`, `bulk`) or per warp group (`wgmma`).

    A wait completes operations for the executing thread. To read what *another*
    thread has copied, a `gpu.barrier` is needed as well.

    **Block-wide operations** (`gpux.tma_load`, `gpux.bulk_load`,
    `gpux.tma_store`, `gpux.bulk_store`) are executed by every thread of a block,
    and one thread issues them for all. In token form, such an operation

    - starts once every thread of the block has reached it, so that it reads what
      they wrote to workgroup memory before, and overwrites only what they have
      already read there;
    - is complete, for a thread, when that thread has awaited its token.

    The passes that translate the tokens insert the barriers and fences that the
    hardware needs for this: `--gpux-tokens-to-mbarriers` for loads and
    `--gpux-tokens-to-groups` for stores. Both produce the **issued form**, which
    has no token, and which only the issuing thread executes.

    In global memory, the operation is ordered only after what the thread did that
    issues it. Between what other threads do there and the operation, the program
    needs a barrier, as between any two threads, and a proxy fence
    (`nvvm.fence.proxy`), as in PTX.

    All ops have unknown memory effects: no load moves across them, and no two of
    them are merged. (`gpux.elect`, which has no effects, is the exception.)
  }];

  // And `async`, by its name: ours or upstream's, whichever the context has.
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect"];
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

def Gpux_Queue : I32EnumAttr<"Queue", "a hardware FIFO of groups", [
    I32EnumAttrCase<"CpAsync", 0, "cp_async">,
    I32EnumAttrCase<"Bulk", 1, "bulk">,
    I32EnumAttrCase<"Wgmma", 2, "wgmma">
  ]> {
  let cppNamespace = "::async_opt::gpux";
  let genSpecializedAttr = 0;
}

def Gpux_QueueAttr : EnumAttr<Gpux_Dialect, Gpux_Queue, "queue"> {
  let summary = "a hardware FIFO of groups";
  let description = [{
    | queue    | operations in its groups                      | commit                       | wait                         |
    |----------|-----------------------------------------------|------------------------------|------------------------------|
    | cp_async | copies of 4, 8 or 16 bytes (`gpux.copy`)      | `cp.async.commit_group`      | `cp.async.wait_group`        |
    | bulk     | bulk and tensor stores to global memory       | `cp.async.bulk.commit_group` | `cp.async.bulk.wait_group`   |
    | wgmma    | matrix multiplications of a warp group        | `wgmma.commit_group`         | `wgmma.wait_group`           |
  }];
  // By a parser of its own, which editors can ask for the names.
  let assemblyFormat = "`<` custom<Queue>($value) `>`";
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

def Gpux_SimTargetAttr
    : AttrDef<Gpux_Dialect, "SimTarget",
              [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let mnemonic = "sim_target";
  let summary = "the simulated device";
  let description = [{
    A target of `gpu.module`, for `--gpu-module-to-binary`: kernels become code
    for the interpreter of async-opt, which the simulated device
    (`libasyncopt_mgpu.so`) loads and runs, in place of PTX or machine code.

    ```mlir
    gpu.module @kernels [#gpux.sim_target] {
      gpu.func @fill(%x: memref<4xi32>, %value: i32) kernel {
        %i = gpu.thread_id x
        memref.store %value, %x[%i] : memref<4xi32>
        gpu.return
      }
    }
    ```

    Kernels may be in any form that the interpreter reads, from tokens to
    operations of NVVM, but their arguments have to be memrefs and numbers: this
    comes before `--convert-gpu-to-nvvm`. Operations that it does not know are
    errors; `linalg` and `affine` are lowered before.

    The object has the target `#nvvm.target`, since whoever runs host code knows
    upstream's targets alone, and the property `asyncopt`. `async-opt` has the
    reader that this needs, and the plugin for `mlir-opt` does not.
  }];
}

// No op has side-effect traits unless it says so: to passes, the effects are
// unknown.
class Gpux_Op<string mnemonic, list<Trait> traits = []>
    : Op<Gpux_Dialect, mnemonic, traits>;

#endif // ASYNC_OPT_GPUX_BASE_TD
