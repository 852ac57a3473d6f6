//===- AsyncBase.td - The async dialect and its type -------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_BASE_TD
#define ASYNC_OPT_ASYNC_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Async_Dialect : Dialect {
  let name = "async";
  let cppNamespace = "::async_opt::async";

  let summary = "Asynchronous execution expressed with tokens";
  let description = [{
    The `async` dialect says *what* runs asynchronously and *what must be
    complete before what*, but not how. An asynchronous operation returns a
    `!async.token`, an SSA value that is complete once the operation is. Any
    asynchronous operation can take tokens as dependencies: it starts after they
    are complete. `async.await` blocks until its tokens are complete.

    ```mlir
    func.func @axpy(%a: f32, %x: memref<8xf32>, %y: memref<8xf32>, %i: index) -> f32 {
      // Two tasks, free to overlap, and a third after both.
      %t0, %ax = async.region -> (f32) {
        %v = memref.load %x[%i] : memref<8xf32>
        %m = arith.mulf %a, %v : f32
        async.yield %m : f32
      }
      %t1, %yi = async.region -> (f32) {
        %v = memref.load %y[%i] : memref<8xf32>
        async.yield %v : f32
      }
      %t2, %sum = async.region [%t0, %t1] -> (f32) {
        %s = arith.addf %ax, %yi : f32
        async.yield %s : f32
      }
      async.await %t2
      return %sum : f32
    }
    ```

    Programs have to obey these rules, and transformations preserve them:

    - **A yielded value may be used only after its token is complete**, that is,
      after an `async.await` of the token or in an operation that depends on it.
      The verifier does not check this: whether a token is complete at a use
      depends on all paths of the program, and any local rule would also reject
      correct programs.
    - **Nothing moves across `async.await`**: it has unknown memory effects.
    - **A region's memory effects happen at some time** between the completion of
      its dependencies and the completion of its token. To passes, its effects are
      those of its body.
    - **A tensor that a region reads stays live until the region's token is
      awaited or depended on.** Bufferization gives a write that may happen
      earlier another buffer. Where it needs a copy of a tensor that a region
      yields, it awaits the region's token first. It awaits it, too, before a
      `func.func` returns the tensor, and before a call that passes it, if the
      callee may copy it: to keep it pending, return it from an `async.func`.
    - **A buffer that a region uses stays allocated, and its own, as long.**
      Upstream's buffer deallocation is refused where there are regions. Its
      `--buffer-loop-hoisting` does not know of tokens: do not run it on a loop
      whose iterations leave regions running.

    An upstream MLIR dialect has the same name; the two can't be loaded into the
    same context.

    These attributes tell `--async-pipeline` how to pipeline a loop. Any other
    attribute of the dialect is an error, wherever it stands.

    | attribute | on | value |
    |---|---|---|
    | `async.num_stages` | a loop | how many stages to divide its body into, at least 1 |
    | `async.stage` | an operation of the loop's body | its stage, from 0 |
    | `async.order` | an operation of the loop's body | its place among the others, from 0 |
    | `async.async_stages` | a loop | the stages whose transfers are asynchronous, such as `[0]` |
    | `async.across_rounds` | a loop in another one | nothing: its pipeline goes on in the next iteration of that one |

    These tell `--gpux-schedule` what an operation is, of whatever dialect:

    | attribute | on | value |
    |---|---|---|
    | `async.engine` | an operation | the name of the engine that it runs on, such as `"MTE2"` |
    | `async.latency` | an operation | cycles until its results are there, an `i64` |
    | `async.occupancy` | an operation | cycles until its engine takes the next one, an `i64`; as long as its latency if absent |
    | `async.reads` | an operation | the numbers of the operands whose memory it reads, such as `[0, 1]` |
    | `async.writes` | an operation | the numbers of the operands whose memory it writes |

    `--async-to-runtime` marks functions whose last result says whether something
    has failed with `async.returns_status`, which has no value.

    A loop that is itself pipelined has three stages and three orders in the body
    of another one: those of its prologue, its kernel and its epilogue.
  }];

  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
  let hasOperationAttrVerify = 1;

  let extraClassDeclaration = [{
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    void printType(::mlir::Type type,
                   ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Async_Type<string name, string typeMnemonic>
    : TypeDef<Async_Dialect, name> {
  let mnemonic = typeMnemonic;
}

// For the documentation. The class is that of upstream's dialect of the same
// name, so that tokens are the same type in whichever of the two a program uses.
def Async_TokenType : Async_Type<"Token", "token"> {
  let summary = "completion of an asynchronous operation";
  let description = [{
    A `!async.token` stands for the completion of the operation that made it, in
    that dynamic instance. Tokens are ordinary SSA values: they flow through
    block arguments, loop-carried values, `arith.select` and function results.
    A token is complete or not yet, never reset.
  }];
}

/// A token as an operand or result; its type is never spelled in assembly.
def Async_Token
    : DialectType<Async_Dialect,
                  CPred<"::llvm::isa<::mlir::async::TokenType>($_self)">,
                  "async token", "::mlir::async::TokenType">,
      BuildableType<"::mlir::async::TokenType::get($_builder.getContext())">;

// The operation starts when all tokens among its operands are complete, so that
// they are complete when its own token is.
def Async_StartsAfterTokens : NativeOpTrait<"StartsAfterTokens"> {
  let cppNamespace = "::async_opt::async";
}

#endif // ASYNC_OPT_ASYNC_BASE_TD
