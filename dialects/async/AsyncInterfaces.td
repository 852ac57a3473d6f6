//===- AsyncInterfaces.td - What asynchronous operations mean -*- tablegen -*-==
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_ASYNC_INTERFACES_TD
#define ASYNC_OPT_ASYNC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Async_CompletionOpInterface : OpInterface<"AsyncCompletionOpInterface"> {
  let cppNamespace = "::async_opt::async";
  let description = [{
    How an operation takes part in asynchronous completion: which queue it issues
    to, commits or waits for, which tokens signal its completion, which threads
    execute it, and which memory it accesses after it has been issued.

    Passes and the simulator use this interface instead of operation names. To
    add an engine, implement it, and a `GroupQueue` if the engine's operations
    complete in groups.
  }];

  let methods = [
    InterfaceMethod<
      "What the operation does to the groups of its queue.",
      "::async_opt::async::GroupEffect", "getGroupEffect">,
    InterfaceMethod<
      "The queue, or null if the operation completes on an mbarrier.",
      "const ::async_opt::async::GroupQueue *", "getGroupQueue">,
    InterfaceMethod<
      "The result that is complete once the operation, or the group that it "
      "commits, is; null if there is none.",
      "::mlir::Value", "getDoneToken", (ins), "",
      "return nullptr;">,
    InterfaceMethod<
      "The result that is complete once the operation has read its sources; "
      "null if there is none.",
      "::mlir::Value", "getReadToken", (ins), "",
      "return nullptr;">,
    InterfaceMethod<
      "For a wait: how many groups it leaves in flight; negative if the number "
      "is invalid, and the wait is not known to complete anything.",
      "int64_t", "getPendingGroups", (ins), "",
      "return 0;">,
    InterfaceMethod<
      "For a wait: true if it waits for reads only.",
      "bool", "waitsForReads", (ins), "",
      "return false;">,
    InterfaceMethod<
      "The threads that execute the operation together.",
      "::async_opt::async::ExecutionScope", "getExecutionScope", (ins), "",
      "return ::async_opt::async::ExecutionScope::Thread;">,
    InterfaceMethod<
      "The memref or pointer that is read asynchronously, or null.",
      "::mlir::Value", "getAsyncSource", (ins), "",
      "return nullptr;">,
    InterfaceMethod<
      "The descriptors of the matrices in workgroup memory that are read "
      "asynchronously, of which there are at most two.",
      "::llvm::SmallVector<::mlir::Value, 2>", "getAsyncMatrices", (ins), "",
      "return {};">,
    InterfaceMethod<
      "The memref or pointer that is written asynchronously, or null.",
      "::mlir::Value", "getAsyncDestination", (ins), "",
      "return nullptr;">,
  ];
}

#endif // ASYNC_OPT_ASYNC_INTERFACES_TD
