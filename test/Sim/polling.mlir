// A loop that tests an mbarrier waits for it: where nobody else can go on and the phase is never complete, that is said of the phase,
// and not that the loop is long.
//
// RUN: not async-sim %s --kernel=nobody_arrives | FileCheck %s --check-prefix=NOBODY
// RUN: not async-sim %s --kernel=other_parity | FileCheck %s --check-prefix=PARITY
// RUN: not async-sim %s --kernel=by_state | FileCheck %s --check-prefix=STATE
// RUN: async-sim %s --kernel=gives_up | FileCheck %s --check-prefix=UP

!bar = memref<1xi64, #gpu.address_space<workgroup>>

gpu.module @polling {
  func.func private @make(%bar: !bar) -> !llvm.ptr<3> {
    %count = llvm.mlir.constant(2 : i32) : i32
    %at = memref.extract_aligned_pointer_as_index %bar : !bar -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    %leader = gpux.elect
    nvvm.mbarrier.init %p, %count, predicate = %leader : !llvm.ptr<3>, i32, i1
    nvvm.fence.mbarrier.init
    gpu.barrier
    return %p : !llvm.ptr<3>
  }

  func.func private @poll(%p: !llvm.ptr<3>, %parity: i32) {
    %true = arith.constant true
    scf.while : () -> () {
      %done = nvvm.mbarrier.test.wait %p, %parity : !llvm.ptr<3>, i32 -> i1
      %again = arith.xori %done, %true : i1
      scf.condition(%again)
    } do {
      scf.yield
    }
    return
  }

  // One of two arrivals.
  // NOBODY: error: nvvm.mbarrier.test.wait: waits forever for phase 0 of %bar[0]: 1 of its 2 arrivals are missing
  // NOBODY-NEXT: this: thread 0 of block 0
  // NOBODY-NEXT: against: nvvm.mbarrier.arrive
  // NOBODY-NOT: error
  gpu.func @nobody_arrives() workgroup(%bar: !bar) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    }
    func.call @poll(%p, %zero) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }

  // Parity 1 passes at once; after phase 0 it never does.
  // PARITY: error: nvvm.mbarrier.test.wait: waits forever for parity 1 of %bar[0]: phase 0
  gpu.func @other_parity() workgroup(%bar: !bar) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    func.call @poll(%p, %one) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }

  // STATE: error: nvvm.mbarrier.try_wait: waits forever for phase 0 of %bar[0]: 1 of its 2 arrivals are missing
  gpu.func @by_state() workgroup(%bar: !bar) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %true = arith.constant true
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    scf.while : () -> () {
      %done = nvvm.mbarrier.try_wait %p, %state : !llvm.ptr<3>, i64 -> i1
      %again = arith.xori %done, %true : i1
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }

  // Whoever tests now and then may do without.
  // UP: gives_up: clean
  gpu.func @gives_up() workgroup(%bar: !bar) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1000 = arith.constant 1000 : index
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    scf.for %i = %c0 to %c1000 step %c1 {
      %done = nvvm.mbarrier.test.wait %p, %zero : !llvm.ptr<3>, i32 -> i1
    }
    gpu.return
  }
}
