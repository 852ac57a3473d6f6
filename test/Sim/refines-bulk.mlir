// Tokens of block-wide copies, and what waits for them in issued form: the phase of an mbarrier, or a wait of the issuing
// thread and a block barrier. Who issues does not matter, and barriers may be added.
//
// RUN: split-file %s %t
// RUN: async-sim %t/issued.mlir --refines=%t/tokens.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: not async-sim %t/one_wait.mlir --refines=%t/tokens.mlir | FileCheck %s --check-prefix=LOAD
// RUN: not async-sim %t/no_barrier.mlir --refines=%t/tokens.mlir | FileCheck %s --check-prefix=STORE
// RUN: not async-sim %t/other.mlir --refines=%t/tokens.mlir | FileCheck %s --check-prefix=OTHER

// RIGHT: k: clean
// RIGHT-NOT: error

// LOAD: k: error: memref.load at {{.*}} is reached while a copy may be in flight that {{.*}}tokens.mlir has waited for by now
// LOAD-NEXT: the copy: gpux.bulk_load at {{.*}}, by thread 0 of block 0

// STORE: k: error: memref.store at {{.*}} is reached while a copy may be in flight that {{.*}}tokens.mlir has waited for by now
// STORE-NEXT: the copy: gpux.bulk_store at {{.*}}, by thread 0 of block 0

// OTHER: k: error: this is another program: thread 0 of block 0 comes to gpux.bulk_load at {{.*}} where {{.*}}tokens.mlir comes to gpux.bulk_load

// What lies in global memory counts, too.
//
// RUN: sed -e "s/bulk_load async %%x, %%other/bulk_load async %%y, %%other/" %t/tokens.mlir > %t/elsewhere.mlir
// RUN: not async-sim %t/elsewhere.mlir --refines=%t/tokens.mlir | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: k: error: this is another program: thread 0 of block 0 at gpux.bulk_load at {{.*}} copies from or to another place in memory than {{.*}}tokens.mlir at gpux.bulk_load

// Bulk copies of `nvvm` are issued for all, so barriers may be added there.
//
// RUN: async-sim %t/nvvm_barrier.mlir --refines=%t/nvvm.mlir | FileCheck %s --check-prefix=ADDED
// ADDED: k: clean
// ADDED-NOT: error

//--- tokens.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
gpu.module @m { gpu.func @k(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  %t = gpu.thread_id x
  %a = gpux.bulk_load async %x, %buf : memref<64xf16> to !line
  %b = gpux.bulk_load async %x, %other : memref<64xf16> to !line
  async.await %a
  %v = memref.load %buf[%t] : !line
  async.await %b
  %read, %done = gpux.bulk_store async %other, %y : !line to memref<64xf16>
  async.await %read
  memref.store %v, %other[%t] : !line
  gpu.return
}}

//--- issued.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
gpu.module @m { gpu.func @k(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 128 : index
  %ticks = arith.constant 1000 : index
  %false = arith.constant false
  %t = gpu.thread_id x
  %leader = gpux.elect
  %ring = nvgpu.mbarrier.create -> !ring
  nvgpu.mbarrier.init %ring[%c0], %c1, predicate = %leader : !ring
  nvgpu.mbarrier.init %ring[%c1], %c1, predicate = %leader : !ring
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %ring[%c0], %bytes : !ring
    gpux.bulk_load %x, %buf, %ring[%c0] : memref<64xf16> to !line, !ring
    nvgpu.mbarrier.arrive.expect_tx %ring[%c1], %bytes : !ring
    gpux.bulk_load %x, %other, %ring[%c1] : memref<64xf16> to !line, !ring
  }
  nvgpu.mbarrier.try_wait.parity %ring[%c0], %false, %ticks : !ring
  %v = memref.load %buf[%t] : !line
  nvgpu.mbarrier.try_wait.parity %ring[%c1], %false, %ticks : !ring
  scf.if %leader {
    gpux.bulk_store %other, %y : !line to memref<64xf16>
  }
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  gpu.barrier
  memref.store %v, %other[%t] : !line
  gpu.return
}}

//--- one_wait.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
gpu.module @m { gpu.func @k(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 128 : index
  %ticks = arith.constant 1000 : index
  %false = arith.constant false
  %t = gpu.thread_id x
  %leader = gpux.elect
  %ring = nvgpu.mbarrier.create -> !ring
  nvgpu.mbarrier.init %ring[%c0], %c1, predicate = %leader : !ring
  nvgpu.mbarrier.init %ring[%c1], %c1, predicate = %leader : !ring
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %ring[%c0], %bytes : !ring
    gpux.bulk_load %x, %buf, %ring[%c0] : memref<64xf16> to !line, !ring
    nvgpu.mbarrier.arrive.expect_tx %ring[%c1], %bytes : !ring
    gpux.bulk_load %x, %other, %ring[%c1] : memref<64xf16> to !line, !ring
  }
  nvgpu.mbarrier.try_wait.parity %ring[%c1], %false, %ticks : !ring
  %v = memref.load %buf[%t] : !line
  nvgpu.mbarrier.try_wait.parity %ring[%c0], %false, %ticks : !ring
  scf.if %leader {
    gpux.bulk_store %other, %y : !line to memref<64xf16>
  }
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  gpu.barrier
  memref.store %v, %other[%t] : !line
  gpu.return
}}

//--- no_barrier.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m { gpu.func @k(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 256 : index
  %ticks = arith.constant 1000 : index
  %false = arith.constant false
  %t = gpu.thread_id x
  %leader = gpux.elect
  %ring = nvgpu.mbarrier.create -> !ring
  nvgpu.mbarrier.init %ring[%c0], %c1, predicate = %leader : !ring
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %ring[%c0], %bytes : !ring
    gpux.bulk_load %x, %buf, %ring[%c0] : memref<64xf16> to !line, !ring
    gpux.bulk_load %x, %other, %ring[%c0] : memref<64xf16> to !line, !ring
  }
  nvgpu.mbarrier.try_wait.parity %ring[%c0], %false, %ticks : !ring
  %v = memref.load %buf[%t] : !line
  scf.if %leader {
    gpux.bulk_store %other, %y : !line to memref<64xf16>
  }
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  memref.store %v, %other[%t] : !line
  gpu.return
}}

//--- other.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
gpu.module @m { gpu.func @k(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  %t = gpu.thread_id x
  %a = gpux.bulk_load async %x, %buf : memref<64xf16> to !line
  %b = gpux.bulk_load async %x, %buf : memref<64xf16> to !line
  async.await %a, %b
  gpu.return
}}

//--- nvvm.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
!global = !llvm.ptr<1>
!shared = !llvm.ptr<3>
gpu.module @m { gpu.func @k(%y: memref<64xf16>) workgroup(%buf: !line) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 128 : i32
  %g = memref.extract_aligned_pointer_as_index %y : memref<64xf16> -> index
  %s = memref.extract_aligned_pointer_as_index %buf : !line -> index
  %gi = arith.index_cast %g : index to i64
  %si = arith.index_cast %s : index to i64
  %to = llvm.inttoptr %gi : i64 to !global
  %from = llvm.inttoptr %si : i64 to !shared
  %leader = gpux.elect
  %zero = arith.constant dense<0.0> : vector<64xf16>
  scf.if %leader {
    vector.store %zero, %buf[%c0] : !line, vector<64xf16>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
  }
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0
  gpu.return
}}

//--- nvvm_barrier.mlir
!line = memref<64xf16, #gpu.address_space<workgroup>>
!global = !llvm.ptr<1>
!shared = !llvm.ptr<3>
gpu.module @m { gpu.func @k(%y: memref<64xf16>) workgroup(%buf: !line) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 128 : i32
  %g = memref.extract_aligned_pointer_as_index %y : memref<64xf16> -> index
  %s = memref.extract_aligned_pointer_as_index %buf : !line -> index
  %gi = arith.index_cast %g : index to i64
  %si = arith.index_cast %s : index to i64
  %to = llvm.inttoptr %gi : i64 to !global
  %from = llvm.inttoptr %si : i64 to !shared
  %leader = gpux.elect
  %zero = arith.constant dense<0.0> : vector<64xf16>
  scf.if %leader {
    vector.store %zero, %buf[%c0] : !line, vector<64xf16>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cp.async.bulk.global.shared.cta %to, %from, %bytes : !global, !shared
  }
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0
  gpu.barrier
  gpu.return
}}
