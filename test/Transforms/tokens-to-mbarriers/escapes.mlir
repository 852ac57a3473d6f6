// A token of a load that goes where it can't be followed is awaited before, and what goes there is a complete token.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-mbarriers --cse | FileCheck %s

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @call {
  func.func private @unknown(!async.token)

  // CHECK-LABEL: gpu.func @handed_to_a_call
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: %[[READY:.*]] = async.ready
  // CHECK: func.call @unknown(%[[READY]])
  gpu.func @handed_to_a_call(%x: !line) workgroup(%a: !row) kernel {
    %t = gpux.bulk_load async %x, %a : !line to !row
    // expected-remark @+1 {{a token of a load escapes here, where it can't be followed; it is awaited before}}
    func.call @unknown(%t) : (!async.token) -> ()
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @returned {
  // CHECK-LABEL: func.func @returned
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: %[[READY:.*]] = async.ready
  // CHECK: return %[[READY]] : !async.token
  func.func @returned(%x: !line, %a: !row) -> !async.token {
    %t = gpux.bulk_load async %x, %a : !line to !row
    // expected-remark @+1 {{a token of a load escapes here}}
    return %t : !async.token
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @joined {
  func.func private @unknown(!async.token)

  // The other token that is joined up with the load's is no business of mbarriers.
  //
  // CHECK-LABEL: gpu.func @joined_with_a_copy
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: func.call @unknown
  gpu.func @joined_with_a_copy(%x: !line) workgroup(%a: !row, %b: !row) kernel {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.copy async %x[%tid], %b[%tid], 1 : !line to !row
    %both = async.join %t, %u
    // expected-remark @+1 {{a token of a load escapes here}}
    func.call @unknown(%both) : (!async.token) -> ()
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @opaque {
  // Iterations of a forall are not followed: the load is awaited before all of them.
  //
  // CHECK-LABEL: gpu.func @awaited_in_a_forall
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: scf.forall
  // CHECK-NEXT: gpu.printf
  gpu.func @awaited_in_a_forall(%x: !line) workgroup(%a: !row) kernel {
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.forall (%i) in (4) {
      // expected-remark @+1 {{a token of a load escapes here}}
      async.await %t
      gpu.printf "loaded"
    }
    gpu.return
  }

  // What is made in there and awaited in there has nothing to do with loads.
  //
  // CHECK-LABEL: gpu.func @copied_in_a_forall
  // CHECK: scf.forall
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK: async.await %[[COPY]]
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @copied_in_a_forall(%x: !line) workgroup(%a: !row, %b: !row) kernel {
    %c0 = arith.constant 0 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.forall (%i) in (4) {
      %u = gpux.copy async %x[%c0], %b[%c0], 4 : !line to !row
      async.await %u
    }
    async.await %t
    gpu.return
  }
}
