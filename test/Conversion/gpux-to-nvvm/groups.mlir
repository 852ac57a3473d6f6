// RUN: async-opt %s --gpux-to-nvvm | FileCheck %s
// RUN: async-opt %s --pass-pipeline="builtin.module(gpu.module(gpux-to-nvvm))" | FileCheck %s

gpu.module @groups {
  // CHECK-LABEL: gpu.func @every_queue
  gpu.func @every_queue() kernel {
    // CHECK-NEXT: nvvm.cp.async.commit.group
    gpux.commit_group <cp_async>
    // CHECK-NEXT: nvvm.cp.async.wait.group 0
    gpux.wait_group <cp_async>, 0
    // CHECK-NEXT: nvvm.cp.async.wait.group 63
    gpux.wait_group <cp_async>, 63

    // CHECK-NEXT: nvvm.cp.async.bulk.commit.group
    gpux.commit_group <bulk>
    // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 2
    gpux.wait_group <bulk>, 2
    // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
    gpux.wait_group <bulk>, 1 read

    // CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
    gpux.commit_group <wgmma>
    // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 3
    gpux.wait_group <wgmma>, 3
    // CHECK-NEXT: gpu.return
    gpu.return
  }
}
