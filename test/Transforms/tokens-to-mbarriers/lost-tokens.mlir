// A token that outlives any number of later loads has no ring that is deep enough. It is awaited where its load is issued, and
// a remark says so.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @until_the_end {
  // The loop may load any number of times before the first token is awaited, which any of its loads may have taken the place
  // of.
  //
  // CHECK-LABEL: gpu.func @any_of_them
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M:.*]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK: scf.for
  gpu.func @any_of_them(%x: !line, %n: index, %k: index) workgroup(%a: !row, %b: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @+1 {{this load is awaited right here: its token outlives any number of later loads of its ring, or is handed on joined with tokens that are awaited separately}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    %kept = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (!async.token) {
      // expected-remark @+1 {{this load is awaited right here}}
      %u = gpux.bulk_load async %x, %b : !line to !row
      %p = arith.cmpi eq, %i, %k : index
      %next = arith.select %p, %u, %s : !async.token
      async.await %u
      scf.yield %next : !async.token
    }
    async.await %kept
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @not_lost {
  // A token that just stays is not lost, whatever the loop loads: its phase is on an mbarrier of its own.
  //
  // CHECK-LABEL: gpu.func @other_ring
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M:.*]][%c0] :
  // CHECK-NOT: try_wait
  // CHECK: scf.for
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  gpu.func @other_ring(%x: !line, %n: index) workgroup(%a: !row, %b: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.for %i = %c0 to %n step %c1 {
      %u = gpux.bulk_load async %x, %b : !line to !row
      async.await %u
    }
    async.await %t
    gpu.return
  }
}
