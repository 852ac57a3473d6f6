//===- GpuxWgmmaOps.td - Operations of warpgroups ----------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_WGMMA_OPS_TD
#define ASYNC_OPT_GPUX_WGMMA_OPS_TD

include "async/AsyncBase.td"
include "async/AsyncInterfaces.td"
include "gpux/GpuxBase.td"
include "mlir/IR/OpAsmInterface.td"

// Upstream's types, as in GpuxBulkOps.td.
def Gpux_MatrixDescriptor
    : Type<CPred<"::llvm::isa<::mlir::nvgpu::WarpgroupMatrixDescriptorType>("
                 "$_self)">,
           "descriptor of a matrix in workgroup memory",
           "::mlir::nvgpu::WarpgroupMatrixDescriptorType">;
def Gpux_Accumulator
    : Type<CPred<"::llvm::isa<::mlir::nvgpu::WarpgroupAccumulatorType>($_self)">,
           "accumulator of a warpgroup",
           "::mlir::nvgpu::WarpgroupAccumulatorType">;

def Gpux_WgmmaOp : Gpux_Op<"wgmma", [
    AllTypesMatch<["accumulator", "result"]>,
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, [
      "getDoneToken", "getExecutionScope", "getAsyncMatrices"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let summary = "multiplies two matrices in workgroup memory";
  let description = [{
    The 128 threads of a warpgroup, which execute the op together, start the
    multiplication of A by B, and add the product to the accumulator
    (`wgmma.mma_async`). The tensor cores read A and B, and write the result, until
    the multiplication is complete.

    With `async`, the op returns the token of the multiplication, and the tokens in
    brackets are awaited before it starts:

    ```mlir
    !a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    !b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
    !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    func.func @multiply(%a: !a, %b: !b, %out: memref<64x128xf32>) {
      %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
      %sum, %t = gpux.wgmma async %a, %b, %zero : !a, !b, !acc
      async.await %t
      nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x128xf32>
      return
    }
    ```

    Before its token is complete, the result is of use to another `gpux.wgmma`
    alone, which adds to it: the hardware runs those in order. Anything else has to
    come after the await, and so does a write to the memory of A and B.

    Without `async` the op joins the open group of the `wgmma` queue.

    A is M×K and B is K×N, as they lie in memory. With `transpose_a`, A lies there
    as K×M, and with `transpose_b`, B as N×K. Each lies in boxes with rows of 128
    bytes, one box after the other, swizzled by 128 bytes: as the TMA engine writes
    it, and as `nvgpu.warpgroup.generate.descriptor` describes it.

    The verifier checks the requirements of the hardware:

    | elements               | K of an instruction | contiguous in memory    |
    |------------------------|---------------------|-------------------------|
    | `f16`, `bf16`          | 16                  | K, or M of A, or N of B |
    | `f32`, taken as `tf32` | 8                   | K                       |
    | `f8E4M3FN`, `f8E5M2`   | 32                  | K                       |

    - M is a multiple of 64, and N a multiple of 8 up to 256;
    - where K is contiguous, a row of K has 128 bytes; where M or N is, it is a
      multiple of 64, and K a multiple of 16;
    - the accumulator has elements of type `f32`.

    (The hardware also adds in `f16`, and multiplies integers; upstream has no
    operations on such accumulators.)

    The passes put `wgmma.fence` where one is needed. What threads write to A or B
    (rather than the TMA engine) has to be made known to the tensor cores by
    `nvvm.fence.proxy` and, if other threads wrote it, a barrier; `async-sim` finds
    where that is missing.

    (PTX ISA, Asynchronous warpgroup level matrix instructions: wgmma.mma_async.)
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       Gpux_MatrixDescriptor:$a,
                       Gpux_MatrixDescriptor:$b,
                       Gpux_Accumulator:$accumulator,
                       UnitAttr:$transpose_a,
                       UnitAttr:$transpose_b);
  let results = (outs Gpux_Accumulator:$result,
                      Optional<Async_Token>:$token);

  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    $a `,` $b `,` $accumulator attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) `,`
    qualified(type($accumulator))
  }];

  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

#endif // ASYNC_OPT_GPUX_WGMMA_OPS_TD
