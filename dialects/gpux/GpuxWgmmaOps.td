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
           "matrix in the registers of a warpgroup",
           "::mlir::nvgpu::WarpgroupAccumulatorType">;

def Gpux_WgmmaOp : Gpux_Op<"wgmma", [
    AllTypesMatch<["accumulator", "result"]>,
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, [
      "getDoneToken", "getExecutionScope", "getAsyncMatrices"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let summary = "multiplies two matrices";
  let description = [{
    The 128 threads of a warpgroup, which execute the op together, start the
    multiplication of A by B, and add the product to the accumulator
    (`wgmma.mma_async`). The tensor cores read A and B, and write the result, until
    the multiplication is complete. B lies in workgroup memory, and A there or in
    registers.

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
    alone, which adds to it: the hardware runs those in order, so that one is complete
    when the last of them is. Anything else has to come after the await, and so does a
    write to the memory of A and B.

    Without `async` the op joins the open group of the `wgmma` queue.

    A matrix in workgroup memory is given by a descriptor.
    A is M×K and B is K×N, as they lie in memory. With `transpose_a`, A lies there
    as K×M, and with `transpose_b`, B as N×K. Each lies in boxes with rows of 128
    bytes, one box after the other, swizzled by 128 bytes: as the TMA engine writes
    it, and as `nvgpu.warpgroup.generate.descriptor` describes it.

    A in registers is a matrix that `gpux.write_fragment` made, with the K of B. Its
    registers are read until the multiplication is complete: the same value must not
    be made again, by the next iteration of a loop, before the await.

    ```mlir
    !p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
    !b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
    !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    func.func @multiply(%numbers: vector<1x8x2x2xf16>, %b: !b, %c: !acc) -> !acc {
      %a = gpux.write_fragment %numbers : vector<1x8x2x2xf16> to !p
      %sum, %t = gpux.wgmma async %a, %b, %c : !p, !b, !acc
      async.await %t
      return %sum : !acc
    }
    ```

    The verifier checks the requirements of the hardware:

    | elements               | added in       | K of an instruction | contiguous in memory    |
    |------------------------|----------------|---------------------|-------------------------|
    | `f16`                  | `f32` or `f16` | 16                  | K, or M of A, or N of B |
    | `bf16`                 | `f32`          | 16                  | K, or M of A, or N of B |
    | `f32`, taken as `tf32` | `f32`          | 8                   | K                       |
    | `f8E4M3FN`, `f8E5M2`   | `f32` or `f16` | 32                  | K                       |
    | `i8` (signed), `ui8`   | `i32`          | 32                  | K                       |

    - M is a multiple of 64, and N a multiple of 8 up to 256 (of integers, of 16 if
      it is more than 32);
    - where K is contiguous, a row of K has 128 bytes; where M or N is, it is a
      multiple of 64, and K a multiple of 16;
    - the two matrices have elements of one type, or of the two of 8-bit floats, or
      of integers;
    - A in registers has no `transpose_a`, and elements of type `tf32` where those in
      memory are `f32`: a matrix of `f32` in registers is an accumulator. Matrices of
      `tf32`, `bf16` and elements of 8 bits are A alone.

    Of an `f32` that is taken as `tf32`, in memory or in registers, the hardware
    takes the upper 19 bits, and cuts off the rest: `nvvm.convert.float.to.tf32`
    rounds.

    Upstream stores accumulators of `f32` alone: others are read by
    `gpux.read_fragment`.

    The passes put `wgmma.fence` where one is needed, and `nvvm.fence.proxy` where
    threads (rather than the TMA engine) write to A or B of a multiplication in token
    form. If other threads wrote it, the program has a barrier between; `async-sim`
    finds where that is missing.

    (PTX ISA, Asynchronous warpgroup level matrix instructions: wgmma.mma_async.)
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyTypeOf<[Gpux_MatrixDescriptor, Gpux_Accumulator]>:$a,
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

class Gpux_FragmentOp<string mnemonic> : Gpux_Op<mnemonic> {
  let hasVerifier = 1;
}

def Gpux_ReadFragmentOp : Gpux_FragmentOp<"read_fragment"> {
  let summary = "gives a thread its numbers of a matrix in registers";
  let description = [{
    Each thread of a warpgroup gets those numbers of an accumulator, or of another
    matrix in registers, that are in its own registers.

    An M×N matrix is a vector `[M/64][N/8][2][2]` in each thread. In thread T of the
    warpgroup (the lane L = T mod 32 of the warp W = T / 32), the number at
    `[b][n][h][p]` is the one in row `64 b + 16 W + L / 4 + 8 h` and column
    `8 n + 2 (L mod 4) + p`. So a thread has numbers of two rows of each 64, the
    dimension `h`, and four neighboring lanes have all of a row.

    A of `tf32` and of elements of 8 bits lies in registers in another way: each has
    32 bits of a row.

    | elements                          | vector                     | column                   |
    |-----------------------------------|----------------------------|--------------------------|
    | `f32`, `i32`, `f16`, `bf16`       | `[M/64][N/8][2][2]`        | `8 n + 2 (L mod 4) + p`  |
    | `tf32`                            | `[M/64][N/4][2][1]`, `f32` | `4 n + L mod 4`          |
    | `f8E4M3FN`, `f8E5M2`, `i8`, `ui8` | `[M/64][N/16][2][4]`       | `16 n + 4 (L mod 4) + p` |

    (PTX ISA, Register fragments and shared memory matrix layouts of
    `wgmma.mma_async`: the layout of D, which for 16 bits is that of A, and those of
    A for `.m64nNk8` and `.m64nNk32`.)

    The maximum of each row, in this thread alone:

    ```mlir
    !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    func.func @row_maxima(%scores: !acc, %least: vector<2xf32>) -> vector<2xf32> {
      %numbers = gpux.read_fragment %scores : !acc to vector<1x16x2x2xf32>
      %max = vector.multi_reduction <maxnumf>, %numbers, %least [0, 1, 3]
          : vector<1x16x2x2xf32> to vector<2xf32>
      return %max : vector<2xf32>
    }
    ```

    An accumulator has to be complete. The op has unknown effects, so that it stays
    below the await.
  }];

  let arguments = (ins Gpux_Accumulator:$fragment);
  let results = (outs AnyVectorOfNonZeroRank:$numbers);

  let assemblyFormat = [{
    $fragment attr-dict `:` qualified(type($fragment)) `to` type($numbers)
  }];
}

def Gpux_WriteFragmentOp : Gpux_FragmentOp<"write_fragment"> {
  let summary = "makes a matrix in registers of what each thread has";
  let description = [{
    The inverse of `gpux.read_fragment`: each thread of a warpgroup writes its
    numbers to registers, as an accumulator that is added to, or as A of a
    `gpux.wgmma`.

    A product of `f32` becomes A of the next multiplication, in `f16`, since the two
    have the same layout:

    ```mlir
    !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    !p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
    func.func @convert(%product: !acc) -> !p {
      %numbers = gpux.read_fragment %product : !acc to vector<1x8x2x2xf32>
      %short = arith.truncf %numbers : vector<1x8x2x2xf32> to vector<1x8x2x2xf16>
      %a = gpux.write_fragment %short : vector<1x8x2x2xf16> to !p
      return %a : !p
    }
    ```

    A of `tf32` is made of `f32`:

    ```mlir
    !p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
    func.func @left(%numbers: vector<1x8x2x1xf32>) -> !p {
      %a = gpux.write_fragment %numbers : vector<1x8x2x1xf32> to !p
      return %a : !p
    }
    ```

    The op has unknown effects, so that it stays where the registers are free. The
    passes put `wgmma.fence` between it and a multiplication.
  }];

  let arguments = (ins AnyVectorOfNonZeroRank:$numbers);
  let results = (outs Gpux_Accumulator:$fragment);

  let assemblyFormat = [{
    $numbers attr-dict `:` type($numbers) `to` qualified(type($fragment))
  }];
}

#endif // ASYNC_OPT_GPUX_WGMMA_OPS_TD
