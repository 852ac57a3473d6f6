// Loops whose warps have roles: what a role awaits is awaited on its own, so that its tiles are loaded rounds before, and its products
// are awaited a round later.
//
// RUN: async-opt %s --split-input-file --async-pipeline="short-trips=branch" --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t
//
// A role awaits all that it may have been given, so the last rounds come after the kernel, whatever is asked for.
// RUN: async-opt %s --split-input-file --async-pipeline="epilogue=predicate" 2>/dev/null | FileCheck %s --check-prefix=PEELED
//
// PEELED-LABEL: gpu.func @awaited_by_a_role
// PEELED:         %[[R:.*]]:4 = scf.for
// PEELED:         scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !async.token, !async.token, f32, i32
// PEELED:         async.await %[[R]]#1
// PEELED:         async.await %[[R]]#0
// PEELED:         gpu.return

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// SAID-NOT: {{remark|warning|error}}

// No barrier of the block: a role that has awaited a load may use it. The view of a slot is made in the role: for other warps, it may be
// out of bounds.
//
// CHECK-LABEL: gpu.func @awaited_by_a_role
// CHECK-NOT:     gpu.barrier
// CHECK:         %[[ROLE:.*]] = arith.cmpi ult
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for {{.*}} iter_args(%[[T1:.*]] = %{{.*}}, %[[T0:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (!async.token, !async.token, f32, i32)
// CHECK:           scf.if %[[ROLE]] {
// CHECK-NEXT:        async.await %[[T0]]
// CHECK-NEXT:      }
// CHECK:           %[[T2:.*]] = gpux.bulk_load async
// CHECK:           %[[NEXT:.*]] = scf.if %[[ROLE]] -> (f32) {
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        memref.load
// CHECK-NEXT:        %[[ADD:.*]] = arith.addf %[[SUM]]
// CHECK-NEXT:        scf.yield %[[ADD]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[SUM]] : f32
// CHECK-NEXT:      }
// CHECK:           scf.yield %[[T2]], %[[T1]], %[[NEXT]]
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @awaited_by_a_role(%x: memref<?x32xf32>, %out: memref<64xf32>, %n: index) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f32) {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %t = gpux.bulk_load async %from, %tile {issuer = 1 : i32} : !Row to !Tile
      %more = scf.if %reads -> (f32) {
        async.await %t
        %at = arith.addi %thread, %c0 : index
        %v = memref.load %tile[%at] : !Tile
        %add = arith.addf %so_far, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %so_far : f32
      }
      scf.yield %more : f32
    } {async.num_stages = 3}
    memref.store %sum, %out[%thread] : memref<64xf32>
    gpu.return
  }
}

// -----

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 2 transfers in stage 0, the rest in stage 1
// SAID-NOT: {{remark|warning|error}}

// The role is that of the other warps, and awaits two tiles, one after the other. What is between is a result for what comes after,
// which other warps don't read.
//
// CHECK-LABEL: gpu.func @awaits_in_a_row
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (!async.token, !async.token, f32, i32)
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:      } else {
// CHECK-NEXT:        async.await %[[A]]
// CHECK-NEXT:      }
// CHECK-COUNT-2:   gpux.bulk_load async
// CHECK:           %[[V:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:        %[[POISON:.*]] = ub.poison : f32
// CHECK-NEXT:        scf.yield %[[POISON]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        memref.load
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.if %{{.*}} {
// CHECK-NEXT:      } else {
// CHECK-NEXT:        async.await %[[B]]
// CHECK-NEXT:      }
// CHECK:           scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:        scf.yield %[[SUM]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        memref.load
// CHECK-NEXT:        arith.addf %{{.*}}, %[[V]]
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @awaits_in_a_row(%x: memref<?x32xf32>, %y: memref<?x32xf32>, %out: memref<64xf32>, %n: index) workgroup(%a: !Tile, %b: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %lane = arith.andi %thread, %c31 : index
    %warp = gpu.subgroup_id : index
    %loads = arith.cmpi ult, %warp, %c1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f32) {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %t = gpux.bulk_load async %from, %a {issuer = 0 : i32} : !Row to !Tile
      %from_y = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %u = gpux.bulk_load async %from_y, %b {issuer = 0 : i32} : !Row to !Tile
      %more = scf.if %loads -> (f32) {
        scf.yield %so_far : f32
      } else {
        async.await %t
        %v = memref.load %a[%lane] : !Tile
        async.await %u
        %w = memref.load %b[%lane] : !Tile
        %product = arith.addf %w, %v : f32
        %add = arith.addf %so_far, %product : f32
        scf.yield %add : f32
      }
      scf.yield %more : f32
    } {async.num_stages = 2}
    memref.store %sum, %out[%thread] : memref<64xf32>
    gpu.return
  }
}

// -----

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 1
// SAID-NOT: {{remark|warning|error}}

// Both ways do something: that stays one operation, and awaits when its turn comes.
//
// CHECK-LABEL: gpu.func @both_ways
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for
// CHECK:           gpux.bulk_load async
// CHECK:           scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:        async.await
// CHECK-NEXT:        memref.load
// CHECK:           } else {
// CHECK-NEXT:        memref.store
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @both_ways(%x: memref<?x32xf32>, %seen: memref<?xf32>, %out: memref<64xf32>, %n: index) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f32) {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %t = gpux.bulk_load async %from, %tile {issuer = 1 : i32} : !Row to !Tile
      %more = scf.if %reads -> (f32) {
        async.await %t
        %v = memref.load %tile[%thread] : !Tile
        %add = arith.addf %so_far, %v : f32
        scf.yield %add : f32
      } else {
        memref.store %zero, %seen[%i] : memref<?xf32>
        scf.yield %so_far : f32
      }
      scf.yield %more : f32
    } {async.num_stages = 2}
    memref.store %sum, %out[%thread] : memref<64xf32>
    gpu.return
  }
}

// -----

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// Without a warp that issues the load, nobody knows that it is over where some threads await it.
//
// SAID: remark: is not pipelined
// SAID: note: 'gpux.bulk_load' op is awaited by some warps alone, but names no warp that issues it, so its buffer can't be used again
// SAID: note: it is awaited here
// SAID: note: name it at each load of the loop, such as {issuer = 4 : i32} for warp 4; or else await the load outside of the 'scf.if', in all warps

// CHECK-LABEL: gpu.func @no_issuer
// CHECK-NOT:     scf.yield {{.*}}!async.token
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @no_issuer(%x: memref<?x32xf32>, %out: memref<64xf32>, %n: index) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c1 : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f32) {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %t = gpux.bulk_load async %from, %tile : !Row to !Tile
      %more = scf.if %reads -> (f32) {
        async.await %t
        %v = memref.load %tile[%thread] : !Tile
        %add = arith.addf %so_far, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %so_far : f32
      }
      scf.yield %more : f32
    } {async.num_stages = 2}
    memref.store %sum, %out[%thread] : memref<64xf32>
    gpu.return
  }
}
