//===- GpuxHostOps.td - Operations of gpux on the host -----*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_GPUX_HOST_OPS_TD
#define ASYNC_OPT_GPUX_HOST_OPS_TD

include "async/AsyncBase.td"
include "gpux/GpuxBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

// What the host asks of a device. With `async`, an operation returns a token,
// and starts when the tokens in brackets are complete; without, the host waits
// for it.
class Gpux_HostOp<string mnemonic, list<Trait> traits = []>
    : Gpux_Op<mnemonic, traits # [
        Async_StartsAfterTokens,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>
      ]> {
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

class Gpux_AllocBaseOp<string mnemonic>
    : Gpux_HostOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       Variadic<Index>:$dynamicSizes);
  let results = (outs AnyMemRef:$memref, Optional<Async_Token>:$token);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    `(` $dynamicSizes `)` attr-dict `:` type($memref)
  }];
}

def Gpux_AllocOp : Gpux_AllocBaseOp<"alloc"> {
  let summary = "allocates memory of the device";
  let description = [{
    Allocates a buffer in the device's global memory. With `async`, the buffer may
    be used once the token is complete. `dynamicSizes` has one size for each
    dimension that the type leaves open.

    ```mlir
    func.func @alloc(%n: index) -> memref<?x8xf32, #gpu.address_space<global>> {
      %m, %t = gpux.alloc async (%n) : memref<?x8xf32, #gpu.address_space<global>>
      async.await %t
      return %m : memref<?x8xf32, #gpu.address_space<global>>
    }
    ```

    The memory space says that this is device memory: `#gpu.address_space<global>`
    or `1`. A memref of the default memory space is in the host's memory.
  }];
}

def Gpux_HostAllocOp : Gpux_AllocBaseOp<"host_alloc"> {
  let summary = "allocates memory of the host that devices can access";
  let description = [{
    Allocates a buffer in the host's memory that is page-locked (pinned), so that
    the device can transfer it while the host goes on. A transfer of other memory
    of the host makes the host wait (CUDA driver API, API synchronization
    behavior).

    ```mlir
    func.func @host_alloc() -> memref<64xf32> {
      %m = gpux.host_alloc () : memref<64xf32>
      return %m : memref<64xf32>
    }
    ```
  }];
}

def Gpux_DeallocOp : Gpux_HostOp<"dealloc"> {
  let summary = "frees what gpux.alloc or gpux.host_alloc has allocated";
  let description = [{
    Every access to the buffer has to be complete before: its token is among the
    dependencies, or has been awaited.

    ```mlir
    func.func @dealloc(%m: memref<64xf32, #gpu.address_space<global>>, %last: !async.token) -> !async.token {
      %t = gpux.dealloc async [%last] %m : memref<64xf32, #gpu.address_space<global>>
      return %t : !async.token
    }
    ```
  }];
  let arguments = (ins Variadic<Async_Token>:$dependencies, AnyMemRef:$memref);
  let results = (outs Optional<Async_Token>:$token);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) `` $memref attr-dict
    `:` type($memref)
  }];
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

def Gpux_Place : I32EnumAttr<"Place", "where data is", [
    I32EnumAttrCase<"Host", 0, "host">,
    I32EnumAttrCase<"Device", 1, "device">
  ]> {
  let cppNamespace = "::async_opt::gpux";
}

def Gpux_TransferOp : Gpux_HostOp<"transfer", [AttrSizedOperandSegments,
                                               AttrSizedResultSegments]> {
  let summary = "transfers data between the host's and the device's memory";
  let description = [{
    In the **value form** on tensors, the result is the same value, in the other
    place. Bufferization makes it the value form on buffers.

    ```mlir
    func.func @to_device(%x: tensor<8xf32>, %ready: !async.token) -> (tensor<8xf32>, !async.token) {
      %d, %t = gpux.transfer async [%ready] %x to device : tensor<8xf32>
      return %d, %t : tensor<8xf32>, !async.token
    }
    ```

    In the value form on buffers, the result is a new buffer, which
    `gpux.dealloc` frees.

    ```mlir
    func.func @to_new_buffer(%x: memref<8xf32>) -> (memref<8xf32, #gpu.address_space<global>>, !async.token) {
      %d, %t = gpux.transfer async %x to device : memref<8xf32> to memref<8xf32, #gpu.address_space<global>>
      return %d, %t : memref<8xf32, #gpu.address_space<global>>, !async.token
    }
    ```

    In the **destination form** the data goes to a buffer that is there. Both
    buffers may be in the same device.

    ```mlir
    func.func @to_buffer(%x: memref<?xf32>, %d: memref<?xf32, #gpu.address_space<global>>, %free: !async.token) {
      %t = gpux.transfer async [%free] %x, %d : memref<?xf32> to memref<?xf32, #gpu.address_space<global>>
      async.await %t
      return
    }
    ```

    The source may not be written to, and the result or destination not be used,
    until the token is complete.
  }];
  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$src,
                       Optional<AnyMemRef>:$dst,
                       OptionalAttr<Gpux_Place>:$to);
  let results = (outs Optional<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>:$result,
                      Optional<Async_Token>:$token);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) ``
    $src (`,` $dst^)? (`to` $to^)? attr-dict
    `:` custom<TransferTypes>(type($src), type($dst), type($result), ref($dst))
  }];
  let extraClassDeclaration = [{
    ::mlir::ShapedType getSrcType() {
      return ::llvm::cast<::mlir::ShapedType>(getSrc().getType());
    }
    /// The type of the data where it arrives.
    ::mlir::ShapedType getDstType() {
      ::mlir::Value dst = getDst() ? getDst() : getResult();
      return ::llvm::cast<::mlir::ShapedType>(dst.getType());
    }
  }];
}

def Gpux_MemsetOp : Gpux_HostOp<"memset", [
    TypesMatchWith<"value is an element of the buffer", "dst", "value",
                   "::llvm::cast<::mlir::BaseMemRefType>($_self)"
                   ".getElementType()">
  ]> {
  let summary = "sets all elements of a buffer of the device";
  let description = [{
    Stores `value` to each element of `dst`.

    ```mlir
    func.func @memset(%m: memref<?xf32, #gpu.address_space<global>>, %ready: !async.token) -> !async.token {
      %zero = arith.constant 0.0 : f32
      %t = gpux.memset async [%ready] %zero, %m : memref<?xf32, #gpu.address_space<global>>
      return %t : !async.token
    }
    ```

    The elements are integers or floating-point numbers, and the buffer is in the
    device's memory.
  }];
  let arguments = (ins Variadic<Async_Token>:$dependencies, AnyType:$value,
                       AnyMemRef:$dst);
  let results = (outs Optional<Async_Token>:$token);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) `` $value `,` $dst attr-dict
    `:` type($dst)
  }];
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

def Gpux_AsyncLaunchOp : Gpux_HostOp<"async_launch", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>
  ]> {
  let summary = "launches a kernel";
  let description = [{
    Launches a grid of `blocks` thread blocks with `threads` threads each, which
    execute the kernel. The token is complete when all of them have returned.

    ```mlir
    module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @scale(%m: memref<?xf32, #gpu.address_space<global>>, %f: f32) kernel {
          gpu.return
        }
      }
      func.func @launch(%m: memref<?xf32, #gpu.address_space<global>>, %f: f32, %n: index,
                        %written: !async.token) -> !async.token {
        %c1 = arith.constant 1 : index
        %c128 = arith.constant 128 : index
        %t = gpux.async_launch async [%written] @kernels::@scale blocks (%n, %c1, %c1) threads (%c128, %c1, %c1)
            args(%m, %f : memref<?xf32, #gpu.address_space<global>>, f32)
        return %t : !async.token
      }
    }
    ```

    `clusters` is the number of blocks of a cluster in each dimension, which has
    to divide the number of blocks; `dynamic_memory` the bytes of workgroup memory
    beyond what the kernel declares.

    The kernel has to be in scope, and the arguments of its types. The launch fails
    when it is executed with sizes that the device does not have: less than 1, more
    than 1024 threads in a block, blocks that the clusters do not divide (CUDA C++
    Programming Guide, Compute Capabilities). The verifier looks at no sizes, since
    folding puts constants in code that is never executed.
  }];
  let arguments = (ins Variadic<Async_Token>:$dependencies,
                       SymbolRefAttr:$kernel,
                       Variadic<Index>:$clusters,
                       Variadic<Index>:$blocks,
                       Variadic<Index>:$threads,
                       Optional<I32>:$dynamicMemory,
                       Variadic<AnyType>:$kernelOperands);
  let results = (outs Optional<Async_Token>:$token);
  let assemblyFormat = [{
    custom<AsyncClause>(type($token), $dependencies) `` $kernel
    (`clusters` `(` $clusters^ `)`)? `blocks` `(` $blocks `)`
    `threads` `(` $threads `)` (`dynamic_memory` $dynamicMemory^)?
    (`args` `(` $kernelOperands^ `:` type($kernelOperands) `)`)? attr-dict
  }];
}

#endif // ASYNC_OPT_GPUX_HOST_OPS_TD
