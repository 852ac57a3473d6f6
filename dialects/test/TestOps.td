//===- TestOps.td - A dialect with a queue of its own ------*- tablegen -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ASYNC_OPT_TEST_OPS_TD
#define ASYNC_OPT_TEST_OPS_TD

include "async/AsyncBase.td"
include "async/AsyncInterfaces.td"

def TestAsync_Dialect : Dialect {
  let name = "test_async";
  let cppNamespace = "::async_opt::test";
  let summary = "Operations on a queue that passes know only by its interface";
}

class TestAsync_Op<string mnemonic, list<string> methods>
    : Op<TestAsync_Dialect, mnemonic, [
        DeclareOpInterfaceMethods<Async_CompletionOpInterface, methods>]>;

def TestAsync_IssueOp : TestAsync_Op<"issue", ["getDoneToken"]> {
  let summary = "issues an operation on the queue";
  let arguments = (ins Variadic<Async_Token>:$dependencies);
  let results = (outs Optional<Async_Token>:$token);
  let assemblyFormat =
      "($dependencies^)? attr-dict (`:` type($token)^)?";
}

def TestAsync_CommitOp : TestAsync_Op<"commit", []> {
  let summary = "makes a group of what was issued";
  let assemblyFormat = "attr-dict";
}

def TestAsync_WaitOp : TestAsync_Op<"wait", ["getPendingGroups"]> {
  let summary = "waits until at most `pending` groups are in flight";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

#endif // ASYNC_OPT_TEST_OPS_TD
