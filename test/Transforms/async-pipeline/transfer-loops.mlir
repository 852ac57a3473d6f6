// RUN: async-opt %s --async-pipeline --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t.remarks
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups --split-input-file 2>/dev/null | FileCheck %s --check-prefix=COUNTED

// A loop that does nothing but transfer is a transfer: all its copies begin early, and they are awaited together.

!Line = memref<160xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @line
// CHECK:         scf.for %{{.*}} -> (!async.token, !async.token, i32)
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           %[[ROW:.*]] = scf.for %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (!async.token)
// CHECK:             %[[COPY:.*]] = gpux.copy async
// CHECK:             %[[ALL:.*]] = async.join %[[SO_FAR]], %[[COPY]]
// CHECK:             scf.yield %[[ALL]]
// CHECK-NOT:       async.await
// CHECK:           memref.store %{{.*}}, %arg1
// CHECK:           scf.yield %[[ROW]]
//
// COUNTED-LABEL: gpu.func @line
// COUNTED:         scf.for
// COUNTED:           gpux.wait_group <cp_async>, 1
// COUNTED:           scf.for
// COUNTED:             gpux.copy
// COUNTED-NEXT:      }
// COUNTED-NEXT:      gpux.commit_group
gpu.module @m {
  gpu.func @line(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %rows: index, %staged: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c31, %t : index
    %line = memref.alloc() : !Line
    scf.for %y = %c0 to %rows step %c1 {
      scf.for %x = %t to %staged step %c32 {
        %v = memref.load %in[%y, %x] : memref<?x?xf32>
        memref.store %v, %line[%x] : !Line
      }
      gpu.barrier
      %v = memref.load %line[%mirror] : !Line
      memref.store %v, %out[%y, %t] : memref<?x?xf32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

// Loops in each other, and two buffers: each has a token.

!Tile = memref<20x64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @tiles
// CHECK:         scf.for
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           scf.for %{{.*}} -> (!async.token, !async.token)
// CHECK:             scf.for %{{.*}} -> (!async.token, !async.token)
// CHECK-COUNT-2:       gpux.copy async
// CHECK-COUNT-2:       async.join
// CHECK:               scf.yield %{{.*}}, %{{.*}} : !async.token, !async.token
// CHECK-COUNT-2:     async.join
// CHECK:             scf.yield %{{.*}}, %{{.*}} : !async.token, !async.token
//
// COUNTED-LABEL: gpu.func @tiles
gpu.module @m {
  gpu.func @tiles(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %out: memref<?x?xf32>, %n: index, %h: index, %w: index) kernel
      attributes {known_block_size = array<i32: 32, 4, 1>} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %other = arith.subi %c3, %ty : index
    %as = memref.alloc() : !Tile
    %bs = memref.alloc() : !Tile
    scf.for %y = %c0 to %n step %c4 {
      scf.for %i = %ty to %h step %c4 {
        %from = arith.addi %y, %i : index
        scf.for %j = %tx to %w step %c32 {
          %v = memref.load %a[%from, %j] : memref<?x?xf32>
          memref.store %v, %as[%i, %j] : !Tile
          %u = memref.load %b[%from, %j] : memref<?x?xf32>
          memref.store %u, %bs[%i, %j] : !Tile
        }
      }
      gpu.barrier
      %v = memref.load %as[%other, %tx] : !Tile
      %u = memref.load %bs[%other, %tx] : !Tile
      %sum = arith.addf %v, %u : f32
      %to = arith.addi %y, %ty : index
      memref.store %sum, %out[%to, %tx] : memref<?x?xf32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

// With stages, the loop is in one of those that are to be asynchronous.

!Line = memref<160xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @staged
// CHECK:         scf.for
// CHECK:           scf.for %{{.*}} -> (!async.token)
// CHECK:             gpux.copy async
// CHECK:           async.await
// CHECK:           memref.load %view
//
// COUNTED-LABEL: gpu.func @staged
// COUNTED:         gpux.wait_group <cp_async>, 1
gpu.module @m {
  gpu.func @staged(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %rows: index, %staged: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %line = memref.alloc() : !Line
    scf.for %y = %c0 to %rows step %c1 {
      scf.for %x = %t to %staged step %c32 {
        %v = memref.load %in[%y, %x] : memref<?x?xf32>
        memref.store %v, %line[%x] : !Line
      } {async.stage = 0, async.order = 0}
      %v = memref.load %line[%t] {async.stage = 1, async.order = 1} : !Line
      memref.store %v, %out[%y, %t] {async.stage = 1, async.order = 1} : memref<?x?xf32>
    } {async.async_stages = [0]}
    gpu.return
  }
}

// -----

// Each iteration writes over what the one before has written: asynchronous copies would have no order.

!Line = memref<160xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @same_place
// CHECK-NOT:     gpux.copy
// REMARK: remark: stays synchronous: it is in a loop whose iterations are not known to write different places
//
// COUNTED-LABEL: gpu.func @same_place
gpu.module @m {
  gpu.func @same_place(%in: memref<?x?xf32>, %out: memref<?x?xf32>, %rows: index, %staged: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %line = memref.alloc() : !Line
    scf.for %y = %c0 to %rows step %c1 {
      scf.for %x = %t to %staged step %c32 {
        %v = memref.load %in[%y, %x] : memref<?x?xf32>
        memref.store %v, %line[%t] : !Line
      }
      %v = memref.load %line[%t] : !Line
      memref.store %v, %out[%y, %t] : memref<?x?xf32>
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

// An index that grows with two loops may be the same in two iterations; and vectors overlap where it grows by less than they have.

!Line = memref<160xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @diagonal
// CHECK-NOT:     gpux.copy
// REMARK: remark: stays synchronous: it is in a loop whose iterations are not known to write different places
// REMARK: remark: stays synchronous: it is in a loop whose iterations are not known to write different places
//
// COUNTED-LABEL: gpu.func @diagonal
gpu.module @m {
  gpu.func @diagonal(%in: memref<?x160xf32>, %out: memref<?x?xf32>, %rows: index, %staged: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %line = memref.alloc() : !Line
    %other = memref.alloc() : !Line
    scf.for %y = %c0 to %rows step %c1 {
      scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %staged step %c4 {
          %at = arith.addi %i, %j : index
          %v = memref.load %in[%y, %at] : memref<?x160xf32>
          memref.store %v, %line[%at] : !Line
        }
      }
      scf.for %j = %c0 to %staged step %c2 {
        %v = vector.load %in[%y, %j] : memref<?x160xf32>, vector<4xf32>
        vector.store %v, %other[%j] : !Line, vector<4xf32>
      }
      %v = memref.load %line[%t] : !Line
      %u = memref.load %other[%t] : !Line
      %sum = arith.addf %v, %u : f32
      memref.store %sum, %out[%y, %t] : memref<?x?xf32>
    } {async.num_stages = 3}
    gpu.return
  }
}
