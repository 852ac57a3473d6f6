//===- AsyncTransformOps.td - Our passes in transform scripts -*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_TRANSFORM_OPS_TD
#define ASYNC_OPT_TRANSFORM_OPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transform_AsyncPipelineOp
    : Op<Transform_Dialect, "async.pipeline", [
        DeclareOpInterfaceMethods<TransformOpInterface>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let cppNamespace = "::async_opt";
  let summary = "software-pipelines loops, as --async-pipeline does";
  let description = [{
    Pipelines the `scf.for` loops of `target`, and no others. With `num_stages`,
    each is treated as if it had `async.num_stages`; without, the loops have to
    say themselves how they are to be pipelined. All else is as in the pass
    `--async-pipeline`, whose options the other attributes are.

    Barriers of the whole function around a loop are derived anew, unless
    `insert_barriers` is false, and buffers that get versions are allocated
    anew.

    #### Return modes

    Consumes the handle, and returns one to the kernel loops of what was
    pipelined. There are none for a loop that has so few iterations that its
    pipeline is straight-line code, and several for a loop inside of another one
    that is pipelined, too. Handles to other operations that are erased lose
    them.

    A loop that can't be pipelined stays as it is, and makes it a silenceable
    failure that says why. Options that don't exist, and accesses that no
    barrier can order, are definite failures.
  }];

  // What is absent has the default of the pass.
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ConfinedAttr<
                           I64Attr, [IntMinValue<1>]>>:$num_stages,
                       OptionalAttr<StrAttr>:$epilogue,
                       OptionalAttr<StrAttr>:$short_trips,
                       OptionalAttr<StrAttr>:$memory,
                       OptionalAttr<BoolAttr>:$insert_barriers,
                       OptionalAttr<StrAttr>:$chip,
                       OptionalAttr<StrAttr>:$engine,
                       OptionalAttr<BoolAttr>:$bypass_l1,
                       OptionalAttr<I64Attr>:$base_alignment);
  let results = (outs TransformHandleTypeInterface:$kernels);
  let assemblyFormat =
      "$target attr-dict `:` functional-type(operands, results)";
}

#endif // ASYNC_OPT_TRANSFORM_OPS_TD
