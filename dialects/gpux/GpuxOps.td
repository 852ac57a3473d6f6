//===- GpuxOps.td - Operations of the gpux dialect ---------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_OPS_TD
#define ASYNC_OPT_GPUX_OPS_TD

include "async/AsyncBase.td"
include "async/AsyncInterfaces.td"
include "gpux/GpuxBase.td"
include "mlir/IR/OpAsmInterface.td"

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

def Gpux_CopyOp : Gpux_Op<"copy", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, [
      "getDoneToken", "getAsyncSource", "getAsyncDestination"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let summary = "copies 4, 8 or 16 bytes from global to workgroup memory";
  let description = [{
    Each thread that executes the op starts an asynchronous copy (`cp.async`) of
    `elements` contiguous elements from `src` at `srcIndices` to `dst` at
    `dstIndices`.

    With `async`, the op returns the token of the copy, and the tokens in brackets
    are awaited before it starts: `gpux.copy async [%t]` is `async.await %t` right
    before the copy.

    ```mlir
    func.func @copy_with_dependency(%src: memref<128x64xf16>,
                                    %dst: memref<4x64xf16, #gpu.address_space<workgroup>>,
                                    %i: index, %j: index, %slot: index, %free: !async.token) -> !async.token {
      %t = gpux.copy async [%free] %src[%i, %j], %dst[%slot, %j], 8 {bypass_l1}
          : memref<128x64xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
      return %t : !async.token
    }
    ```

    Without `async` the op joins the open group of the `cp_async` queue, which
    `gpux.commit_group` closes:

    ```mlir
    func.func @copy_counted(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) {
      gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      return
    }
    ```

    The optional operand after the number of elements is the number of elements to
    read from the source; the rest of the destination is filled with zeros. A copy
    with a count of 0 does not access the source at all, so its indices may be out
    of bounds. This is how to predicate a copy:

    ```mlir
    func.func @copy_partial(%src: memref<?xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>,
                            %i: index, %k: index, %count: index) -> !async.token {
      %t = gpux.copy async %src[%i], %dst[%k], 4, %count
          : memref<?xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      return %t : !async.token
    }
    ```

    `bypass_l1` caches the source only at the L2 level (`.cg`), which the hardware
    supports for 16 bytes only.

    The verifier checks the requirements of the hardware as far as they are
    statically known:

    - the source is in global memory (the default memory space, `1` or
      `#gpu.address_space<global>`), the destination in workgroup memory (`3` or
      `#gpu.address_space<workgroup>`);
    - both have the same element type, an integer or float of whole bytes;
    - the transfer is 4, 8 or 16 bytes; several elements are contiguous on both
      sides;
    - source and destination address are aligned to the size of the transfer;
    - the count is at most the number of elements.
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyMemRef:$src,
                       Variadic<Index>:$srcIndices,
                       AnyMemRef:$dst,
                       Variadic<Index>:$dstIndices,
                       I64Attr:$elements,
                       Optional<Index>:$count,
                       UnitAttr:$bypass_l1);
  let results = (outs Optional<Async_Token>:$token);

  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    $src `[` $srcIndices `]` `,` $dst `[` $dstIndices `]` `,` $elements
    (`,` $count^)? attr-dict `:` type($src) `to` type($dst)
  }];

  let extraClassDeclaration = [{
    ::mlir::MemRefType getSrcType() { return getSrc().getType(); }
    ::mlir::MemRefType getDstType() { return getDst().getType(); }
    /// The number of bytes written to the destination.
    int64_t getTransferBytes();
  }];

  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def Gpux_CommitGroupOp : Gpux_Op<"commit_group", [
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, ["getDoneToken"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
  ]> {
  let summary = "closes the open group of a queue";
  let description = [{
    All operations that the thread has issued on the queue since its last commit
    become one group, the most recent one. The group may be empty.

    ```mlir
    func.func @commit(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) {
      gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      return
    }
    ```

    With `async`, the op returns the token of the group that it closes. This is how
    to await asynchronous operations of other dialects, which don't return tokens:

    ```mlir
    func.func @commit_async() {
      // ... nvvm.wgmma.mma_async ...
      %t = gpux.commit_group async <wgmma>
      async.await %t
      return
    }
    ```
  }];

  let arguments = (ins Gpux_QueueAttr:$queue);
  let results = (outs Optional<Async_Token>:$token);
  let assemblyFormat = "custom<AsyncKeyword>(type($token)) `` $queue attr-dict";
}

def Gpux_WaitGroupOp : Gpux_Op<"wait_group", [
    DeclareOpInterfaceMethods<Async_CompletionOpInterface, [
      "getPendingGroups", "waitsForReads"]>
  ]> {
  let summary = "blocks until at most `pending` groups of a queue are in flight";
  let description = [{
    Blocks until at most `pending` of the most recently closed groups of the queue
    are in flight; all older ones are complete. The open group does not count and
    is not waited for.

    ```mlir
    func.func @wait() {
      gpux.wait_group <cp_async>, 3
      return
    }
    ```

    On the `bulk` queue, a wait with `read` waits only until the sources have been
    read and may be reused:

    ```mlir
    func.func @wait_read() {
      gpux.wait_group <bulk>, 0 read
      return
    }
    ```

    The hardware's counter has six bits, so `pending` is 0 to 63; on the `wgmma`
    queue it has three bits, so `pending` is 0 to 7. `ptxas` silently treats larger
    numbers as the largest one, so they are an error here.

    In the machine code, `cp_async` and `bulk` share one counter (`SB0`), while
    `wgmma` has its own (`gsb0`). A wait on `cp_async` or `bulk` may therefore wait
    for groups of the other queue as well, but never for less than it says.
  }];

  let arguments = (ins Gpux_QueueAttr:$queue,
                       I64Attr:$pending,
                       UnitAttr:$read);
  let assemblyFormat = "$queue `,` $pending (`read` $read^)? attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

class Gpux_FlagOp<string mnemonic> : Gpux_Op<mnemonic> {
  let arguments = (ins StrAttr:$from, StrAttr:$to, I64Attr:$id);
  let assemblyFormat = "` ` `<` $from `,` $to `,` $id `>` attr-dict";
  let hasVerifier = 1;
}

def Gpux_SetFlagOp : Gpux_FlagOp<"set_flag"> {
  let summary = "sets a flag when an engine is done with what stands before";
  let description = [{
    An instruction of engine `from`: it sets flag `id` of the pair of engines
    `from` and `to` when everything that stands before it on `from` is finished.
    A back end maps it to what its machine has; pairs of engines have flags of
    their own.

    ```mlir
    func.func @set_flag() {
      gpux.set_flag <"MTE2", "V", 0>
      return
    }
    ```

    `--gpux-insert-flags` puts it where it is needed.
  }];
}

def Gpux_WaitFlagOp : Gpux_FlagOp<"wait_flag"> {
  let summary = "blocks an engine until a flag is set, and takes it back";
  let description = [{
    An instruction of engine `to`: nothing that stands after it on `to` begins
    before flag `id` of the pair is set. It clears the flag, or, if the machine's
    flags count, takes one from it.

    ```mlir
    func.func @wait_flag() {
      gpux.wait_flag <"MTE2", "V", 0>
      return
    }
    ```
  }];
}

// Block-wide operations, those of the host, and those of warpgroups are in files
// of their own, but on the same page.
include "gpux/GpuxBulkOps.td"
include "gpux/GpuxHostOps.td"
include "gpux/GpuxWgmmaOps.td"

#endif // ASYNC_OPT_GPUX_OPS_TD
