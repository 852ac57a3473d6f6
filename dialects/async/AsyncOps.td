//===- AsyncOps.td - Operations of the async dialect -------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_OPS_TD
#define ASYNC_OPT_ASYNC_OPS_TD

include "async/AsyncBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Async_Op<string mnemonic, list<Trait> traits = []>
    : Op<Async_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def Async_RegionOp : Async_Op<"region", [
    AutomaticAllocationScope,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
                              ["getRegionInvocationBounds"]>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">
  ]> {
  let summary = "runs its body as one asynchronous task";
  let description = [{
    The body runs once, as one task, which may start as soon as all
    `dependencies` are complete. The first result is the token of the task; the
    others are the values that its `async.yield` returns, which may be used only
    once the token is complete. The body captures values of the enclosing scope
    implicitly, and what it allocates with `memref.alloca` lives until the body
    ends. It is a single block, so control flow inside stays structured for as
    long as the region exists.

    ```mlir
    func.func @region(%m: memref<4xf32>, %i: index) -> f32 {
      %t = async.region {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %m[%i] : memref<4xf32>
        async.yield
      }
      %u, %v = async.region [%t] -> (f32) {
        %x = memref.load %m[%i] : memref<4xf32>
        async.yield %x : f32
      }
      async.await %u
      return %v : f32
    }
    ```

    Asynchronous operations may nest. Tokens that the body yields after its
    values delay the completion of the region and are not results:

    ```mlir
    func.func @nested(%m: memref<4xf32>, %i: index) -> !async.token {
      %t, %v = async.region -> (memref<4xf32>) {
        %inner = async.region {
          %zero = arith.constant 0.0 : f32
          memref.store %zero, %m[%i] : memref<4xf32>
          async.yield
        }
        async.yield %m, %inner : memref<4xf32>, !async.token
      }
      return %t : !async.token
    }
    ```

    A region therefore has exactly one token, and never returns another one as a
    value.

    `on(device N)` says which device the operations in the body use that allocate
    memory of a device, transfer data or launch kernels. Without it, that is the
    device of the region around it, or device 0. The body itself runs on the host.

    ```mlir
    func.func @placed(%x: memref<8xf32>) -> (memref<8xf32, #gpu.address_space<global>>, !async.token) {
      %t, %d = async.region on(device 1) -> (memref<8xf32, #gpu.address_space<global>>) {
        %m = gpux.transfer %x to device : memref<8xf32> to memref<8xf32, #gpu.address_space<global>>
        async.yield %m : memref<8xf32, #gpu.address_space<global>>
      }
      return %d, %t : memref<8xf32, #gpu.address_space<global>>, !async.token
    }
    ```

    In device code, a region is issued in place: its dependencies are awaited,
    the asynchronous operations of its body are issued, and its token is complete
    when the tokens that it yields are.
  }];

  let arguments = (ins Variadic<Async_Token>:$dependencies,
      OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative]>>:$device);
  let results = (outs Async_Token:$token, Variadic<AnyType>:$values);
  let regions = (region SizedRegion<1>:$body);

  let assemblyFormat = [{
    (` ` `[` $dependencies^ `]`)? (`on` `(` `device` $device^ `)`)? (`->` `(` type($values)^ `)`)?
    attr-dict-with-keyword custom<TaskBody>($body)
  }];

  let extraClassDeclaration = [{
    /// The terminator of the body.
    YieldOp getYield();
  }];

  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def Async_YieldOp : Async_Op<"yield", [
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>,
    NativeOpTrait<"ReturnLike">,
    ParentOneOf<["RegionOp", "FuncOp"]>, Pure, Terminator
  ]> {
  let summary = "ends the body of a region or of an async function";
  let description = [{
    In an `async.region`, the operands up to the trailing tokens are the values
    of the region; the region is complete only when its body has ended and the
    trailing tokens are complete.

    ```mlir
    func.func @yield(%v: f32, %inner: !async.token) -> f32 {
      %t, %r = async.region -> (f32) {
        async.yield %v, %inner : f32, !async.token
      }
      async.await %t
      return %r : f32
    }
    ```

    In an `async.func` the operands are the results of the function, tokens
    included.
  }];

  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";

  let extraClassDeclaration = [{
    /// The number of operands before the trailing tokens.
    unsigned getNumValues();
    /// The operands before the trailing tokens.
    ::mlir::OperandRange getValues() {
      return getOperands().take_front(getNumValues());
    }
    /// The trailing tokens.
    ::mlir::OperandRange getTokens() {
      return getOperands().drop_front(getNumValues());
    }
  }];

  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

def Async_AwaitOp : Async_Op<"await"> {
  let summary = "blocks until all tokens are complete";
  let description = [{
    Blocks the executing thread until all `tokens` are complete. In device code,
    they are then complete for the executing thread. Other threads that use the
    data need a barrier after the await; for a block-wide operation, an await of
    their own is enough.

    The op has unknown memory effects, so nothing moves across it.

    ```mlir
    func.func @await(%t0: !async.token, %t1: !async.token) {
      async.await %t0, %t1
      return
    }
    ```

    Canonicalization removes an await of no tokens, which is written
    `async.await ()`, and an await of `async.ready` tokens only.
  }];

  let arguments = (ins Variadic<Async_Token>:$tokens);
  let assemblyFormat = "custom<Tokens>($tokens) attr-dict";
  let hasCanonicalizeMethod = 1;
}

def Async_ReadyOp : Async_Op<"ready", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>, Pure
  ]> {
  let summary = "makes a token that is complete";
  let description = [{
    ```mlir
    func.func @ready() -> !async.token {
      %t = async.ready
      return %t : !async.token
    }
    ```
  }];

  let results = (outs Async_Token:$token);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, TokenType::get($_builder.getContext()));
  }]>];
  let assemblyFormat = "attr-dict";
}

def Async_JoinOp : Async_Op<"join", [
    Async_StartsAfterTokens,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>, Pure
  ]> {
  let summary = "makes a token that is complete when all of its operands are";
  let description = [{
    ```mlir
    func.func @join(%t0: !async.token, %t1: !async.token) -> !async.token {
      %t = async.join %t0, %t1
      return %t : !async.token
    }
    ```

    A join does not block. Joins of joins are flattened, a join of one token is
    that token, and a join of no tokens, which is written `async.join ()`, is
    `async.ready`.
  }];

  let arguments = (ins Variadic<Async_Token>:$tokens);
  let results = (outs Async_Token:$token);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$tokens), [{
    build($_builder, $_state, TokenType::get($_builder.getContext()), tokens);
  }]>];
  let assemblyFormat = "custom<Tokens>($tokens) attr-dict";
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Async_FuncOp : Async_Op<"func", [
    AffineScope, AutomaticAllocationScope, FunctionOpInterface,
    IsolatedFromAbove
  ]> {
  let summary = "a function that may return before its results are complete";
  let description = [{
    The body runs when the function is called, and `async.yield` returns from it.
    What makes the function asynchronous is that the operations of its body may
    still be in flight when it returns: its last result, if that is a token, says
    when the other results are complete. (Without such a token, they are complete
    on return.)

    ```mlir
    async.func @fill(%m: memref<8xf32>, %v: f32) -> (memref<8xf32>, !async.token) {
      %t = async.region {
        linalg.fill ins(%v : f32) outs(%m : memref<8xf32>)
        async.yield
      }
      async.yield %m, %t : memref<8xf32>, !async.token
    }
    ```

    The token is an ordinary result: `async.yield` lists it, callers see it in the
    type, and inlining a call replaces its results with what the function yields.

    A function without a body is a declaration, and has to be private.
  }];

  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       UnitAttr:$no_inline);
  let regions = (region AnyRegion:$body);

  let extraClassDeclaration = [{
    //===------------------------------------------------------------------===//
    // CallableOpInterface and FunctionOpInterface
    //===------------------------------------------------------------------===//

    ::mlir::Region *getCallableRegion() {
      return isExternal() ? nullptr : &getBody();
    }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }

    //===------------------------------------------------------------------===//
    // SymbolOpInterface
    //===------------------------------------------------------------------===//

    bool isDeclaration() { return isExternal(); }
  }];

  let hasCustomAssemblyFormat = 1;
}

def Async_CallOp : Async_Op<"call", [
    CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>
  ]> {
  let summary = "calls an async function";
  let description = [{
    Calls an `async.func` in the same symbol table. Its results may be used once
    the token among them is complete.

    ```mlir
    async.func private @fill(memref<8xf32>, f32) -> (memref<8xf32>, !async.token)

    func.func @call(%m: memref<8xf32>, %v: f32) -> memref<8xf32> {
      %r, %t = async.call @fill(%m, %v) : (memref<8xf32>, f32) -> (memref<8xf32>, !async.token)
      async.await %t
      return %r : memref<8xf32>
    }
    ```
  }];

  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyType>:$operands,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       UnitAttr:$no_inline);
  let results = (outs Variadic<AnyType>);

  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, results)
  }];

  let extraClassDeclaration = [{
    //===------------------------------------------------------------------===//
    // CallOpInterface
    //===------------------------------------------------------------------===//

    ::mlir::Operation::operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() {
      return getOperandsMutable();
    }
    ::mlir::CallInterfaceCallable getCallableForCallee() {
      return getCalleeAttr();
    }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(
          ::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
  }];
}

#endif // ASYNC_OPT_ASYNC_OPS_TD
