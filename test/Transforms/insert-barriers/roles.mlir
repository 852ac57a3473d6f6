// Warps with roles: what all threads have loaded together is there for those warps that await it, and for nobody else. What some warps
// begin, they alone have in flight.
//
// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s
// RUN: async-opt %s --gpux-insert-barriers=explain 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

!Row = memref<64xf32>
!Slot = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: @each_role_awaits
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @each_role_awaits(%x: !Row, %out: memref<192xf32>) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 192, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %at = arith.andi %other, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    %last = arith.cmpi uge, %warp, %c4 : index
    %t = gpux.bulk_load async %x, %s {issuer = 2 : i32} : !Row to !Slot
    scf.if %first {
      async.await %t
    }
    scf.if %last {
      async.await %t
      %v = memref.load %s[%at] : !Slot
      memref.store %v, %out[%thread] : memref<192xf32>
    }
    scf.if %first {
      %v = memref.load %s[%at] : !Slot
      memref.store %v, %out[%thread] : memref<192xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: @all_warps_have_awaited_by_their_roles
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @all_warps_have_awaited_by_their_roles(%x: !Row, %out: memref<64xf32>) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %t = gpux.bulk_load async %x, %s {issuer = 0 : i32} : !Row to !Slot
    scf.if %first {
      async.await %t
    } else {
      async.await %t
    }
    %v = memref.load %s[%other] : !Slot
    memref.store %v, %out[%thread] : memref<64xf32>
    gpu.return
  }

  // SAID: note: 'gpux.bulk_load' writes what another thread accesses later
  // SAID: note: it is complete here, for the threads that await it
  // SAID: note: 'memref.load' reads it
  //
  // CHECK-LABEL: @one_role_awaits_for_another
  // CHECK: async.await
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @one_role_awaits_for_another(%x: !Row, %out: memref<64xf32>) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %t = gpux.bulk_load async %x, %s {issuer = 0 : i32} : !Row to !Slot
    scf.if %first {
      async.await %t
    }
    scf.if %first {
    } else {
      %v = memref.load %s[%at] : !Slot
      memref.store %v, %out[%thread] : memref<64xf32>
    }
    gpu.return
  }

  // Two roles await, a third one reads.
  //
  // CHECK-LABEL: @others_await_for_a_third_role
  // CHECK-COUNT-2: async.await
  // CHECK-NOT: memref.load
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @others_await_for_a_third_role(%x: !Row, %out: memref<96xf32>) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c31 = arith.constant 31 : index
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c31 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %second = arith.cmpi eq, %warp, %c1 : index
    %third = arith.cmpi eq, %warp, %c2 : index
    %t = gpux.bulk_load async %x, %s {issuer = 0 : i32} : !Row to !Slot
    scf.if %first {
      async.await %t
    }
    scf.if %second {
      async.await %t
    }
    scf.if %third {
      %v = memref.load %s[%at] : !Slot
      memref.store %v, %out[%thread] : memref<96xf32>
    }
    gpu.return
  }

  // One thread of a warp does not await for the others of it.
  //
  // CHECK-LABEL: @a_thread_awaits
  // CHECK: async.await
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: memref.load
  gpu.func @a_thread_awaits(%x: !Row, %out: memref<64xf32>) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %one = arith.cmpi eq, %thread, %c0 : index
    %t = gpux.bulk_load async %x, %s : !Row to !Slot
    scf.if %one {
      async.await %t
    }
    %v = memref.load %s[%other] : !Slot
    memref.store %v, %out[%thread] : memref<64xf32>
    gpu.return
  }

  // The warps that have begun a copy await it under the same condition: it is not in flight where others write.
  //
  // CHECK-LABEL: @a_copy_of_one_role
  // CHECK: async.await
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: memref.store
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @a_copy_of_one_role(%x: memref<32xf32>, %v: f32) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c31 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %t = scf.if %first -> (!async.token) {
      %copy = gpux.copy async %x[%at], %s[%at], 1 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
      scf.yield %copy : !async.token
    } else {
      %ready = async.ready
      scf.yield %ready : !async.token
    }
    scf.if %first {
      async.await %t
    }
    scf.if %first {
    } else {
      memref.store %v, %s[%at] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // A role has a barrier of its own between what its warps write and what they read of each other.
  //
  // CHECK-LABEL: @a_barrier_of_a_role
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @a_barrier_of_a_role(%out: memref<96xf32>, %v: f32, %n: index) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    scf.for %i = %c0 to %n step %c1 {
      scf.if %first {
        memref.store %v, %s[%thread] : !Slot
        nvvm.barrier id = %id number_of_threads = %threads
        %w = memref.load %s[%other] : !Slot
        memref.store %w, %out[%thread] : memref<96xf32>
        nvvm.barrier id = %id number_of_threads = %threads
      }
    }
    gpu.return
  }

  // Nothing of its own comes between the reads and the writes of the next iteration.
  //
  // CHECK-LABEL: @half_of_the_barriers_of_a_role
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @half_of_the_barriers_of_a_role(%out: memref<96xf32>, %v: f32, %n: index) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    scf.for %i = %c0 to %n step %c1 {
      scf.if %first {
        memref.store %v, %s[%thread] : !Slot
        nvvm.barrier id = %id number_of_threads = %threads
        %w = memref.load %s[%other] : !Slot
        memref.store %w, %out[%thread] : memref<96xf32>
      }
    }
    gpu.return
  }

  // What one role has a barrier for, another one has not: the last two warps read what the first ones write.
  //
  // CHECK-LABEL: @read_by_another_role
  // CHECK: nvvm.barrier
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @read_by_another_role(%out: memref<128xf32>, %v: f32) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    scf.if %first {
      memref.store %v, %s[%at] : !Slot
      nvvm.barrier id = %id number_of_threads = %threads
    }
    scf.if %first {
    } else {
      %w = memref.load %s[%at] : !Slot
      memref.store %w, %out[%thread] : memref<128xf32>
    }
    gpu.return
  }

  // Another one comes before: what it has ordered is not what comes after it.
  //
  // CHECK-LABEL: @written_after_the_barrier_of_a_role
  // CHECK-NOT: gpu.barrier
  // CHECK: nvvm.barrier
  // CHECK: memref.store
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @written_after_the_barrier_of_a_role(%out: memref<128xf32>, %v: f32) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %thread = gpu.thread_id x
    %other = arith.xori %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    scf.if %first {
      memref.store %v, %s[%thread] : !Slot
    }
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %threads
      memref.store %v, %s[%thread] : !Slot
    }
    scf.if %first {
      %w = memref.load %s[%other] : !Slot
      memref.store %w, %out[%thread] : memref<128xf32>
    }
    gpu.return
  }

  // The barrier of a role does not order what others have written.
  //
  // CHECK-LABEL: @written_by_another_role
  // CHECK: memref.store
  // CHECK-NOT: memref.load
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.return
  gpu.func @written_by_another_role(%out: memref<128xf32>, %v: f32) workgroup(%s: !Slot) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    scf.if %first {
    } else {
      memref.store %v, %s[%at] : !Slot
    }
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %threads
      %w = memref.load %s[%at] : !Slot
      memref.store %w, %out[%thread] : memref<128xf32>
    }
    gpu.return
  }
}
