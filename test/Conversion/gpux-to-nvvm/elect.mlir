// The thread that issues is elected once, where the function starts.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-to-nvvm | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @elected
  // CHECK-DAG: %[[X:.*]] = gpu.thread_id x
  // CHECK-DAG: %[[Y:.*]] = gpu.thread_id y
  // CHECK-DAG: %[[Z:.*]] = gpu.thread_id z
  // CHECK-DAG: %[[SX:.*]] = gpu.block_dim x
  // CHECK-DAG: %[[SY:.*]] = gpu.block_dim y
  // CHECK: %[[A:.*]] = arith.muli %[[SY]], %[[Z]] : index
  // CHECK: %[[B:.*]] = arith.addi %[[Y]], %[[A]] : index
  // CHECK: %[[C:.*]] = arith.muli %[[SX]], %[[B]] : index
  // CHECK: %[[THREAD:.*]] = arith.addi %[[X]], %[[C]] : index
  // CHECK: %[[WARP:.*]] = arith.constant 32 : index
  // CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[THREAD]], %[[WARP]] : index
  // CHECK: %[[LEADER:.*]] = scf.if %[[FIRST]] -> (i1) {
  // CHECK:   %[[E:.*]] = nvvm.elect.sync -> i1
  // CHECK:   scf.yield %[[E]] : i1
  // CHECK: } else {
  // CHECK:   %[[NO:.*]] = arith.constant false
  // CHECK:   scf.yield %[[NO]] : i1
  // CHECK: }
  // CHECK-NOT: elect
  // CHECK: "test.use"(%[[LEADER]], %[[LEADER]])
  // CHECK: scf.if %{{.*}} {
  // CHECK:   "test.use"(%[[LEADER]])
  gpu.func @elected(%c: i1) kernel {
    "test.first"() : () -> ()
    %a = gpux.elect
    %b = gpux.elect
    "test.use"(%a, %b) : (i1, i1) -> ()
    scf.if %c {
      %d = gpux.elect
      "test.use"(%d) : (i1) -> ()
    }
    gpu.return
  }

  // Not all of a warp can take part: the first thread it is.
  // CHECK-LABEL: gpu.func @small_block
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[LEADER:.*]] = arith.cmpi eq, %{{.*}}, %[[ZERO]] : index
  // CHECK-NOT: elect
  // CHECK: "test.use"(%[[LEADER]])
  gpu.func @small_block() kernel attributes {known_block_size = array<i32: 4, 4, 1>} {
    %a = gpux.elect
    "test.use"(%a) : (i1) -> ()
    gpu.return
  }

  // CHECK-LABEL: gpu.func @whole_warp
  // CHECK: nvvm.elect.sync
  gpu.func @whole_warp() kernel attributes {known_block_size = array<i32: 4, 4, 2>} {
    %a = gpux.elect
    "test.use"(%a) : (i1) -> ()
    gpu.return
  }

  // A loop asks again, right where one thread is to do something: once for branches between which nothing happens, and inside of a branch
  // for the first warp, whose number is in a register that the warp shares. (Not where the block is of unknown size, as above.)
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK: %[[WARP:.*]] = arith.divui
  // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[WARP]] : index to i32
  // CHECK: %[[SHARED:.*]], %{{.*}} = gpu.shuffle idx %[[NUMBER]]
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[SHARED]]
  // CHECK: nvvm.elect.sync
  // CHECK: scf.if %[[ONCE:.*]] {
  // CHECK-NEXT: "test.before"()
  // CHECK: scf.for
  // CHECK: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: scf.if %[[FIRST]] {
  // CHECK-NEXT: %[[AGAIN:.*]] = nvvm.elect.sync
  // CHECK-NEXT: scf.if %[[AGAIN]] {
  // CHECK-NEXT: "test.first"()
  // CHECK-NEXT: "test.second"(%[[SUM]])
  // CHECK: "test.between"()
  // CHECK-NEXT: scf.if %[[FIRST]] {
  // CHECK-NEXT: %[[LAST:.*]] = nvvm.elect.sync
  // CHECK-NEXT: scf.if %[[LAST]] {
  // CHECK-NEXT: "test.third"()
  // Where the others have something to do, too, the branch stays as it is.
  // CHECK: scf.if %[[ONCE]] {
  // CHECK-NEXT: "test.one"()
  // CHECK-NEXT: } else {
  // CHECK-NEXT: "test.others"()
  gpu.func @in_a_loop(%n: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %leader = gpux.elect
    scf.if %leader {
      "test.before"() : () -> ()
    }
    scf.for %i = %c0 to %n step %c1 {
      scf.if %leader {
        "test.first"() : () -> ()
      }
      %sum = arith.addi %i, %n : index
      scf.if %leader {
        "test.second"(%sum) : (index) -> ()
      }
      "test.between"() : () -> ()
      scf.if %leader {
        "test.third"() : () -> ()
      }
      scf.if %leader {
        "test.one"() : () -> ()
      } else {
        "test.others"() : () -> ()
      }
    }
    gpu.return
  }
}
