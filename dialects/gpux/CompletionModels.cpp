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
using async::AsyncCompletionOpInterface;
using async::GroupEffect;
using async::GroupQueue;

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

struct DeviceAsyncWaitModel
    : public AsyncCompletionOpInterface::ExternalModel<
          DeviceAsyncWaitModel, nvgpu::DeviceAsyncWaitOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Wait; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::CpAsync);
  }
  int64_t getPendingGroups(Operation *op) const {
    // Without a number it waits for all.
    return static_cast<int32_t>(
        cast<nvgpu::DeviceAsyncWaitOp>(op).getNumGroups().value_or(0));
  }
};

struct CpAsyncWaitGroupModel
    : public AsyncCompletionOpInterface::ExternalModel<
          CpAsyncWaitGroupModel, NVVM::CpAsyncWaitGroupOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Wait; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::CpAsync);
  }
  int64_t getPendingGroups(Operation *op) const {
    return static_cast<int32_t>(cast<NVVM::CpAsyncWaitGroupOp>(op).getN());
  }
};

struct CpAsyncBulkWaitGroupModel
    : public AsyncCompletionOpInterface::ExternalModel<
          CpAsyncBulkWaitGroupModel, NVVM::CpAsyncBulkWaitGroupOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Wait; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::Bulk);
  }
  int64_t getPendingGroups(Operation *op) const {
    auto wait = cast<NVVM::CpAsyncBulkWaitGroupOp>(op);
    return static_cast<int32_t>(wait.getGroup());
  }
  bool waitsForReads(Operation *op) const {
    return cast<NVVM::CpAsyncBulkWaitGroupOp>(op).getRead().value_or(false);
  }
};

struct WgmmaWaitGroupModel
    : public AsyncCompletionOpInterface::ExternalModel<
          WgmmaWaitGroupModel, NVVM::WgmmaWaitGroupSyncOp> {
  GroupEffect getGroupEffect(Operation *) const { return GroupEffect::Wait; }
  const GroupQueue *getGroupQueue(Operation *) const {
    return &gpux::getGroupQueue(Queue::Wgmma);
  }
  int64_t getPendingGroups(Operation *op) const {
    return static_cast<int64_t>(
        cast<NVVM::WgmmaWaitGroupSyncOp>(op).getGroup());
  }
};
} // namespace

static void attachNvgpuModels(MLIRContext *context, nvgpu::NVGPUDialect *) {
  nvgpu::DeviceAsyncCopyOp::attachInterface<DeviceAsyncCopyModel>(*context);
  nvgpu::DeviceAsyncCreateGroupOp::attachInterface<DeviceAsyncCreateGroupModel>(
      *context);
  nvgpu::DeviceAsyncWaitOp::attachInterface<DeviceAsyncWaitModel>(*context);
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
  CpAsyncWaitGroupOp::attachInterface<CpAsyncWaitGroupModel>(*context);

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
  CpAsyncBulkWaitGroupOp::attachInterface<CpAsyncBulkWaitGroupModel>(*context);

  WgmmaGroupSyncAlignedOp::attachInterface<
      CommitModel<WgmmaGroupSyncAlignedOp, Queue::Wgmma>>(*context);
  WgmmaWaitGroupSyncOp::attachInterface<WgmmaWaitGroupModel>(*context);
}

void async_opt::gpux::registerCompletionModels(DialectRegistry &registry) {
  registry.addExtension(attachNvgpuModels);
  registry.addExtension(attachNvvmModels);
}
