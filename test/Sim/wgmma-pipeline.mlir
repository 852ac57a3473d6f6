// A ring of two slots: one thread loads tiles by TMA, and a warpgroup multiplies them, one multiplication in flight while the next
// tile is awaited. A slot is handed back by one thread, once the wait of the next multiplication has completed this one.
//
// RUN: async-sim %s --dynamic-workgroup=32768 --arg 0=random --arg 1=random | FileCheck %s
// RUN: async-sim %s --dynamic-workgroup=32768 --timeline=%t.svg --trace=%t.json
// RUN: FileCheck %s --check-prefix=SVG < %t.svg
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: sed '/SLOT/s/before/slot/; /not_first =/s/ugt/uge/' %s | not async-sim - --dynamic-workgroup=32768 | FileCheck %s --check-prefix=EARLY
// RUN: sed '/EMPTY/d' %s | not async-sim - --dynamic-workgroup=32768 | FileCheck %s --check-prefix=NO-EMPTY
// RUN: sed 's/waitGroup = 1/waitGroup = 2/' %s | not async-sim - --dynamic-workgroup=32768 | FileCheck %s --check-prefix=TOO-LARGE

!tile = memref<64x64xf16, 3>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @pipeline {
  // CHECK: pipeline: clean

  // A row of multiplications for the warpgroup, which its first warp issues.
  // SVG: >wgmma</text>
  // SVG-NEXT: <title>nvgpu.warpgroup.mma at {{.*}}, iteration 0: issued {{[0-9]+}}, done {{[0-9]+}}, observed {{[0-9]+}}</title>
  // SVG: >warp 1</text>
  // SVG-NOT: >wgmma</text>
  // SVG: a multiplication of a warpgroup</text>
  // TRACE: "cat":"multiplication"

  // The slot of the multiplication that was just issued.
  // EARLY: error: WAR race: nvgpu.tma.async.load writes what a matrix multiplication may still read
  // EARLY: against: nvgpu.warpgroup.mma

  // NO-EMPTY: error: nvgpu.mbarrier.arrive.expect_tx: arrives on phase 0 of number 0 of the mbarriers of {{.*}}, which has all its arrivals already

  // TOO-LARGE: error: WAR race: nvgpu.tma.async.load writes what a matrix multiplication may still read
  gpu.func @pipeline(%x: memref<64x256xf16>, %y: memref<256x64xf16>, %out: memref<64x64xf32>) kernel
      attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c8192 = arith.constant 8192 : index
    %c16384 = arith.constant 16384 : index
    %bytes = arith.constant 16384 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %loads = arith.cmpi eq, %t, %c128 : index
    %multiplies = arith.cmpi ult, %t, %c128 : index
    %any_x = memref.cast %x : memref<64x256xf16> to memref<*xf16>
    %any_y = memref.cast %y : memref<256x64xf16> to memref<*xf16>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c64] : memref<*xf16> -> !map
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c64, %c64] : memref<*xf16> -> !map
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %bytes3 = memref.memory_space_cast %memory : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xi8, 3>
    %full = nvgpu.mbarrier.create -> !ring
    %empty = nvgpu.mbarrier.create -> !ring
    scf.for %i = %c0 to %c2 step %c1 {
      nvgpu.mbarrier.init %full[%i], %c1, predicate = %first : !ring
      nvgpu.mbarrier.init %empty[%i], %c1, predicate = %first : !ring
    }
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %loads {
      scf.for %i = %c0 to %c4 step %c1 {
        %slot = arith.remui %i, %c2 : index
        %round = arith.divui %i, %c2 : index
        %bits = arith.index_cast %round : index to i64
        %odd = arith.trunci %bits : i64 to i1
        // The first wait for each slot is for the phase before the first.
        %parity = arith.xori %odd, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%slot], %parity, %ticks : !ring // EMPTY
        %shift_a = arith.muli %slot, %c16384 : index
        %shift_b = arith.addi %shift_a, %c8192 : index
        %a = memref.view %bytes3[%shift_a][] : memref<?xi8, 3> to !tile
        %b = memref.view %bytes3[%shift_b][] : memref<?xi8, 3> to !tile
        %k = arith.muli %i, %c64 : index
        nvgpu.mbarrier.arrive.expect_tx %full[%slot], %bytes : !ring
        nvgpu.tma.async.load %map_x[%k, %c0], %full[%slot] to %a : !map, !ring -> !tile
        nvgpu.tma.async.load %map_y[%c0, %k], %full[%slot] to %b : !map, !ring -> !tile
      }
    }
    scf.if %multiplies {
      %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
      %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %zero) -> !acc {
        %slot = arith.remui %i, %c2 : index
        %before = arith.subi %c1, %slot : index
        %round = arith.divui %i, %c2 : index
        %bits = arith.index_cast %round : index to i64
        %parity = arith.trunci %bits : i64 to i1
        nvgpu.mbarrier.try_wait.parity %full[%slot], %parity, %ticks : !ring
        %shift_a = arith.muli %slot, %c16384 : index
        %shift_b = arith.addi %shift_a, %c8192 : index
        %a = memref.view %bytes3[%shift_a][] : memref<?xi8, 3> to !tile
        %b = memref.view %bytes3[%shift_b][] : memref<?xi8, 3> to !tile
        %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : !tile, !map -> !matrix
        %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !tile, !map -> !matrix
        %d = nvgpu.warpgroup.mma %da, %db, %c {transposeB, waitGroup = 1} : !matrix, !matrix, !acc -> !acc
        %not_first = arith.cmpi ugt, %i, %c0 : index
        %arrives = arith.andi %first, %not_first : i1
        scf.if %arrives {
          %token = nvgpu.mbarrier.arrive %empty[%before] : !ring -> !nvgpu.mbarrier.token // SLOT
        }
        scf.yield %d : !acc
      }
      nvvm.wgmma.wait.group.sync.aligned 0
      nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x64xf32>
    }
    gpu.return
  }
}
