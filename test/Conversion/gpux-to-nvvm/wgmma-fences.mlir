// A fence stands where something else accesses the registers of a multiplication, or branches, since the last one.
//
// RUN: async-opt %s --gpux-to-nvvm=chip=sm_90a | FileCheck %s

!tile = memref<64x64xf16, 3>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // Zeros that a multiplication begins with are not written.
  // CHECK-LABEL: gpu.func @zeros
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: gpu.return
  gpu.func @zeros(%x: !map) workgroup(%tile: !tile) kernel {
    %a = nvgpu.warpgroup.generate.descriptor %tile, %x : !tile, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    %e = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %f = gpux.wgmma %a, %a, %e : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // A loop's are.
  // CHECK-LABEL: gpu.func @zeros_of_a_loop
  // CHECK-COUNT-3: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: gpu.return
  gpu.func @zeros_of_a_loop(%x: !map, %i: index, %n: index) workgroup(%tile: !tile) kernel {
    %a = nvgpu.warpgroup.generate.descriptor %tile, %x : !tile, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    %e = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %f = gpux.wgmma %a, %a, %d : !m, !m, !acc
    %g = scf.for %j = %i to %n step %i iter_args(%sum = %e) -> !acc {
      %next = gpux.wgmma %a, %a, %sum : !m, !m, !acc
      scf.yield %next : !acc
    }
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // What runs one block once is no branch, with what it accesses.
  // CHECK-LABEL: gpu.func @run_once
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK: memref.alloca_scope
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: memref.store
  // CHECK: "after the store"
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: scf.execute_region
  // CHECK: llvm.inline_asm has_side_effects ""
  // CHECK: "after the read"
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: gpu.return
  gpu.func @run_once(%x: !map, %v: f32, %out: memref<f32>, %all: memref<64x64xf32>) workgroup(%tile: !tile) kernel {
    %a = nvgpu.warpgroup.generate.descriptor %tile, %x : !tile, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    memref.alloca_scope {
      memref.store %v, %out[] : memref<f32>
    }
    gpu.printf "after the store"
    %e = gpux.wgmma %a, %a, %d : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    scf.execute_region {
      nvgpu.warpgroup.mma.store %e, %all : !acc to memref<64x64xf32>
      scf.yield
    }
    gpu.printf "after the read"
    %f = gpux.wgmma %a, %a, %e : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // A condition is, and so is a region of several blocks.
  // CHECK-LABEL: gpu.func @branches
  // CHECK-COUNT-3: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: gpu.return
  gpu.func @branches(%x: !map, %p: i1, %v: f32, %out: memref<f32>) workgroup(%tile: !tile) kernel {
    %a = nvgpu.warpgroup.generate.descriptor %tile, %x : !tile, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    scf.if %p {
      memref.store %v, %out[] : memref<f32>
    }
    %e = gpux.wgmma %a, %a, %d : !m, !m, !acc
    scf.execute_region {
      cf.cond_br %p, ^store, ^end
    ^store:
      memref.store %v, %out[] : memref<f32>
      cf.br ^end
    ^end:
      scf.yield
    }
    %f = gpux.wgmma %a, %a, %e : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}
