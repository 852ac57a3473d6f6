// Two asynchronous stages: one copies to the middle buffer, the next stores from it. The store of one iteration is
// awaited in the next, so that it may still read its slot when the copy comes that goes there two iterations later.
// A third slot mends that: each slot has then been read when its turn comes.
//
// RUN: not async-sim %s --kernel=two_versions --schedule=early | FileCheck %s --check-prefix=TWO
// RUN: async-sim %s --kernel=three_versions | FileCheck %s --check-prefix=THREE
// RUN: async-sim %s --kernel=source_is_read | FileCheck %s --check-prefix=READ
// RUN: not async-sim %s --kernel=undrained | FileCheck %s --check-prefix=UNDRAINED
// RUN: not async-sim %s --kernel=read_is_not_written | FileCheck %s --check-prefix=WRITTEN

!A = memref<16x4xf32>
!global = !llvm.ptr<1>
!shared = !llvm.ptr<3>

gpu.module @pipelines {
  // Where row %row of a buffer begins, for operations that take pointers.
  func.func private @in_global(%m: !A, %row: index) -> !global {
    %c16 = arith.constant 16 : index
    %base = memref.extract_aligned_pointer_as_index %m : !A -> index
    %bytes = arith.muli %row, %c16 : index
    %at = arith.addi %base, %bytes : index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !global
    return %p : !global
  }

  func.func private @in_shared(%m: memref<3x4xf32, #gpu.address_space<workgroup>>, %row: index) -> !shared {
    %c16 = arith.constant 16 : index
    %base = memref.extract_aligned_pointer_as_index %m : memref<3x4xf32, #gpu.address_space<workgroup>> -> index
    %bytes = arith.muli %row, %c16 : index
    %at = arith.addi %base, %bytes : index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !shared
    return %p : !shared
  }

  // B[i % versions] = A[i] is stage 0, C[i - 1] = B[(i - 1) % versions] stage 1.
  func.func private @pipeline(%a: !A, %c: !A, %b: memref<3x4xf32, #gpu.address_space<workgroup>>, %versions: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %bytes = arith.constant 16 : i32
    gpux.copy %a[%c0, %c0], %b[%c0, %c0], 4 : !A to memref<3x4xf32, #gpu.address_space<workgroup>>
    gpux.commit_group <cp_async>
    scf.for %i = %c1 to %c16 step %c1 {
      %slot = arith.remui %i, %versions : index
      // TWO: error: WAR race: gpux.copy writes what an asynchronous copy may still read
      // TWO-NEXT: this: thread 0 of block 0, iteration 1 of
      // TWO-NEXT: seen in iterations 1 to 8, and more of the scf.for at
      // TWO-NEXT: against: nvvm.cp.async.bulk.global.shared.cta at {{.*}}, thread 0 of block 0, iteration 0 of
      // TWO-NEXT: on: bytes 0 to 15
      // TWO-NEXT: waited: last by nvvm.cp.async.bulk.wait_group
      // TWO-NEXT: it frees the sources of 0 of 1 group of this thread; the copy is in the 1st: the count is 1 and has to be 0
      // TWO-NEXT: help: wait for the copy before its source changes, or give the buffer another slot
      // TWO-NOT: error
      gpux.copy %a[%i, %c0], %b[%slot, %c0], 4 : !A to memref<3x4xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
      %before = arith.subi %i, %c1 : index
      %full = arith.remui %before, %versions : index
      %from = func.call @in_shared(%b, %full) : (memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> !shared
      %to = func.call @in_global(%c, %before) : (!A, index) -> !global
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 1 {read}
    }
    gpux.wait_group <bulk>, 0 read
    return
  }

  gpu.func @two_versions(%a: !A, %c: !A) workgroup(%b: memref<3x4xf32, #gpu.address_space<workgroup>>) kernel {
    %c2 = arith.constant 2 : index
    func.call @pipeline(%a, %c, %b, %c2) : (!A, !A, memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> ()
    gpu.return
  }

  // THREE: three_versions: clean
  gpu.func @three_versions(%a: !A, %c: !A) workgroup(%b: memref<3x4xf32, #gpu.address_space<workgroup>>) kernel {
    %c3 = arith.constant 3 : index
    func.call @pipeline(%a, %c, %b, %c3) : (!A, !A, memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> ()
    gpu.return
  }

  // A source that was read may change, and a block may end, though the store has not been seen to arrive.
  // READ: source_is_read: clean
  gpu.func @source_is_read(%c: !A) workgroup(%b: memref<3x4xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 16 : i32
    %zero = arith.constant dense<0.0> : vector<4xf32>
    vector.store %zero, %b[%c0, %c0] : memref<3x4xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %from = func.call @in_shared(%b, %c0) : (memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> !shared
    %to = func.call @in_global(%c, %c0) : (!A, index) -> !global
    nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    vector.store %zero, %b[%c0, %c0] : memref<3x4xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    gpu.return
  }

  // The block's memory goes with the block, and the store may still read it.
  // UNDRAINED: error: nvvm.cp.async.bulk.global.shared.cta: the kernel ends and nobody has waited for this
  // UNDRAINED: help: wait for the queue before the kernel ends
  gpu.func @undrained(%c: !A) workgroup(%b: memref<3x4xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 16 : i32
    %from = func.call @in_shared(%b, %c0) : (memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> !shared
    %to = func.call @in_global(%c, %c0) : (!A, index) -> !global
    nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
    nvvm.cp.async.bulk.commit.group
    gpu.return
  }

  // A source that was read does not mean that the destination was written.
  // WRITTEN: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  gpu.func @read_is_not_written(%c: !A) workgroup(%b: memref<3x4xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 16 : i32
    %from = func.call @in_shared(%b, %c0) : (memref<3x4xf32, #gpu.address_space<workgroup>>, index) -> !shared
    %to = func.call @in_global(%c, %c0) : (!A, index) -> !global
    nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    %x = memref.load %c[%c0, %c0] : !A
    gpu.return
  }
}
