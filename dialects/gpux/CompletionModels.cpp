//===- CompletionModels.cpp - What upstream's operations mean ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gpux/Gpux.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace async_opt;
using namespace async_opt::gpux;
using async_opt::async::AsyncCompletionOpInterface;
using async_opt::async::GroupEffect;
using async_opt::async::GroupQueue;

namespace {
/// An operation that does something to the groups of a queue, and no more.
template <typename OpT, Queue queue, GroupEffect effect>
struct QueueModel : public AsyncCompletionOpInterface::ExternalModel<
                        QueueModel<OpT, queue, effect>, OpT> {
  GroupEffect getGroupEffect(Operation *) const { return effect; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(queue);
  }
};

/// An operation that completes on an mbarrier.
template <typename OpT>
struct MBarrierModel
    : public AsyncCompletionOpInterface::ExternalModel<MBarrierModel<OpT>,
                                                       OpT> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Issue; }
  const GroupQueue *getGroupQueue(Operation *) const { return nullptr; }
};

/// The number in an attribute, whose getter takes it to be unsigned.
int64_t getSigned(uint32_t number) { return static_cast<int32_t>(number); }
int64_t getSigned(uint64_t number) { return static_cast<int64_t>(number); }
/// A wait without a number waits for all.
int64_t getSigned(std::optional<uint32_t> number) {
  return getSigned(number.value_or(0));
}

/// A wait until at most `(op.*count)()` groups are in flight, for reads alone
/// if `(op.*reads)()` says so.
template <typename OpT, Queue queue, auto count, auto reads = nullptr>
struct WaitModel : public AsyncCompletionOpInterface::ExternalModel<
                       WaitModel<OpT, queue, count, reads>, OpT> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Wait; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(queue);
  }
  int64_t getPendingGroups(Operation *op) const {
    return getSigned((cast<OpT>(op).*count)());
  }
  bool waitsForReads(Operation *op) const {
    if constexpr (std::is_null_pointer_v<decltype(reads)>)
      return false;
    else
      return (cast<OpT>(op).*reads)().value_or(false);
  }
};

template <typename OpT, Queue queue>
using IssueModel = QueueModel<OpT, queue, GroupEffect::Issue>;
template <typename OpT, Queue queue>
using CommitModel = QueueModel<OpT, queue, GroupEffect::Commit>;

struct DeviceAsyncCopyModel
    : public AsyncCompletionOpInterface::ExternalModel<
          DeviceAsyncCopyModel, nvgpu::DeviceAsyncCopyOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Issue; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::CpAsync);
  }
  Value getDoneToken(Operation *op) const {
    return cast<nvgpu::DeviceAsyncCopyOp>(op).getAsyncToken();
  }
  Value getAsyncSource(Operation *op) const {
    return cast<nvgpu::DeviceAsyncCopyOp>(op).getSrc();
  }
  Value getAsyncDestination(Operation *op) const {
    return cast<nvgpu::DeviceAsyncCopyOp>(op).getDst();
  }
};

struct CpAsyncModel
    : public AsyncCompletionOpInterface::ExternalModel<CpAsyncModel,
                                                       NVVM::CpAsyncOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Issue; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::CpAsync);
  }
  Value getAsyncSource(Operation *op) const {
    return cast<NVVM::CpAsyncOp>(op).getSrc();
  }
  Value getAsyncDestination(Operation *op) const {
    return cast<NVVM::CpAsyncOp>(op).getDst();
  }
};

struct DeviceAsyncCreateGroupModel
    : public AsyncCompletionOpInterface::ExternalModel<
          DeviceAsyncCreateGroupModel, nvgpu::DeviceAsyncCreateGroupOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Commit; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::CpAsync);
  }
  // The hardware commits all that is open, whatever the operands say.
  Value getDoneToken(Operation *op) const {
    return cast<nvgpu::DeviceAsyncCreateGroupOp>(op).getAsyncToken();
  }
};
} // namespace

static void attachNvgpuModels(MLIRContext *context, nvgpu::NVGPUDialect *) {
  nvgpu::DeviceAsyncCopyOp::attachInterface<DeviceAsyncCopyModel>(*context);
  nvgpu::DeviceAsyncCreateGroupOp::attachInterface<DeviceAsyncCreateGroupModel>(
      *context);
  nvgpu::DeviceAsyncWaitOp::attachInterface<
      WaitModel<nvgpu::DeviceAsyncWaitOp, Queue::CpAsync,
                &nvgpu::DeviceAsyncWaitOp::getNumGroups>>(*context);
  nvgpu::TmaAsyncLoadOp::attachInterface<MBarrierModel<nvgpu::TmaAsyncLoadOp>>(
      *context);
  nvgpu::TmaAsyncStoreOp::attachInterface<
      IssueModel<nvgpu::TmaAsyncStoreOp, Queue::Bulk>>(*context);
}

static void attachNvvmModels(MLIRContext *context, NVVM::NVVMDialect *) {
  using namespace NVVM;
  CpAsyncOp::attachInterface<CpAsyncModel>(*context);
  CpAsyncCommitGroupOp::attachInterface<
      CommitModel<CpAsyncCommitGroupOp, Queue::CpAsync>>(*context);
  CpAsyncWaitGroupOp::attachInterface<
      WaitModel<CpAsyncWaitGroupOp, Queue::CpAsync, &CpAsyncWaitGroupOp::getN>>(
      *context);

  CpAsyncBulkGlobalToSharedClusterOp::attachInterface<
      MBarrierModel<CpAsyncBulkGlobalToSharedClusterOp>>(*context);
  CpAsyncBulkTensorGlobalToSharedClusterOp::attachInterface<
      MBarrierModel<CpAsyncBulkTensorGlobalToSharedClusterOp>>(*context);
  CpAsyncBulkSharedCTAToSharedClusterOp::attachInterface<
      MBarrierModel<CpAsyncBulkSharedCTAToSharedClusterOp>>(*context);
  CpAsyncBulkSharedCTAToGlobalOp::attachInterface<
      IssueModel<CpAsyncBulkSharedCTAToGlobalOp, Queue::Bulk>>(*context);
  CpAsyncBulkTensorSharedCTAToGlobalOp::attachInterface<
      IssueModel<CpAsyncBulkTensorSharedCTAToGlobalOp, Queue::Bulk>>(*context);
  CpAsyncBulkTensorReduceOp::attachInterface<
      IssueModel<CpAsyncBulkTensorReduceOp, Queue::Bulk>>(*context);
  CpAsyncBulkCommitGroupOp::attachInterface<
      CommitModel<CpAsyncBulkCommitGroupOp, Queue::Bulk>>(*context);
  CpAsyncBulkWaitGroupOp::attachInterface<WaitModel<
      CpAsyncBulkWaitGroupOp, Queue::Bulk, &CpAsyncBulkWaitGroupOp::getGroup,
      &CpAsyncBulkWaitGroupOp::getRead>>(*context);

  WgmmaGroupSyncAlignedOp::attachInterface<
      CommitModel<WgmmaGroupSyncAlignedOp, Queue::Wgmma>>(*context);
  WgmmaWaitGroupSyncOp::attachInterface<WaitModel<
      WgmmaWaitGroupSyncOp, Queue::Wgmma, &WgmmaWaitGroupSyncOp::getGroup>>(
      *context);
}

void async_opt::gpux::registerCompletionModels(DialectRegistry &registry) {
  registry.addExtension(attachNvgpuModels);
  registry.addExtension(attachNvvmModels);
}
