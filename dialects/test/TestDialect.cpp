//===- TestDialect.cpp - A dialect with a queue of its own ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/TestDialect.h"

using namespace mlir;
using namespace async_opt;
using namespace async_opt::test;
using async_opt::async::GroupEffect;
using async_opt::async::GroupQueue;

#include "test/TestDialect.cpp.inc"

#define GET_OP_CLASSES
#include "test/TestOps.cpp.inc"

namespace {
/// A queue whose waits count to 2, and whose empty groups are not free.
class TestQueue final : public GroupQueue {
public:
  StringRef getName() const final { return "test"; }
  unsigned getMaxPendingGroups() const final { return 2; }
  bool hasFreeEmptyGroups() const final { return false; }
  bool hasConvergentCommits() const final { return true; }

  Operation *buildCommit(OpBuilder &builder, Location loc) const final {
    return CommitOp::create(builder, loc);
  }

  Operation *buildWait(OpBuilder &builder, Location loc, unsigned pending,
                       bool read) const final {
    return WaitOp::create(builder, loc, pending);
  }
};
} // namespace

static const GroupQueue *getTestQueue() {
  static const TestQueue queue;
  return &queue;
}

GroupEffect IssueOp::getGroupEffect() { return GroupEffect::Issue; }
const GroupQueue *IssueOp::getGroupQueue() { return getTestQueue(); }
Value IssueOp::getDoneToken() { return getToken(); }

GroupEffect CommitOp::getGroupEffect() { return GroupEffect::Commit; }
const GroupQueue *CommitOp::getGroupQueue() { return getTestQueue(); }

GroupEffect WaitOp::getGroupEffect() { return GroupEffect::Wait; }
const GroupQueue *WaitOp::getGroupQueue() { return getTestQueue(); }
int64_t WaitOp::getPendingGroups() { return getPending(); }

void TestAsyncDialect::initialize() {
  async_opt::async::loadAsyncDialect(*getContext());
  addOperations<
#define GET_OP_LIST
#include "test/TestOps.cpp.inc"
      >();
}

void async_opt::test::registerTestDialect(DialectRegistry &registry) {
  async_opt::async::registerAsyncDialect(registry);
  registry.insert<TestAsyncDialect>();
}
