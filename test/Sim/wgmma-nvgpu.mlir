// nvgpu.warpgroup.*: operands that the TMA engine loads and swizzles by 128 bytes.
//
// RUN: async-sim %s --kernel=loaded | FileCheck %s --check-prefix=LOADED
// RUN: sed '/ARRIVED/d' %s | not async-sim - --kernel=loaded | FileCheck %s --check-prefix=NO-ARRIVAL
// RUN: sed '/DONE/d' %s | not async-sim - --kernel=loaded | FileCheck %s --check-prefix=NO-WAIT

!a = memref<64x64xf16, 3>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!mbarriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @nvgpu {
  // A and B are row-major in global memory, and the product is compared with one that is computed number by number.
  // LOADED: loaded: clean
  // NO-ARRIVAL: error: RAW race: nvgpu.warpgroup.mma reads where a bulk copy writes
  // NO-WAIT: error: nvgpu.warpgroup.mma.store: uses an accumulator before the matrix multiplication that writes it has been waited for
  // NO-WAIT-NEXT: this: thread 0 of block 0
  // NO-WAIT-NEXT: against: nvgpu.warpgroup.mma
  gpu.func @loaded(%x: memref<64x64xf16>, %y: memref<64x64xf16>, %out: memref<64x64xf32>)
      workgroup(%a: !a, %b: !a) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %bytes = arith.constant 16384 : index
    %ticks = arith.constant 1000 : index
    %false = arith.constant false
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %any_x = memref.cast %x : memref<64x64xf16> to memref<*xf16>
    %any_y = memref.cast %y : memref<64x64xf16> to memref<*xf16>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c64] : memref<*xf16> -> !map
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c64, %c64] : memref<*xf16> -> !map
    %full = nvgpu.mbarrier.create -> !mbarriers
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %first : !mbarriers
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %first {
      nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !mbarriers
      nvgpu.tma.async.load %map_x[%c0, %c0], %full[%c0] to %a : !map, !mbarriers -> !a
      nvgpu.tma.async.load %map_y[%c0, %c0], %full[%c0] to %b : !map, !mbarriers -> !a
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !mbarriers // ARRIVED
    %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : !a, !map -> !matrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !a, !map -> !matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma %da, %db, %c {transposeB} : !matrix, !matrix, !acc -> !acc
    nvvm.wgmma.wait.group.sync.aligned 0 // DONE
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.barrier
    %row = arith.remui %t, %c64 : index
    scf.for %column = %c0 to %c64 step %c1 {
      %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f32 {
        %u = memref.load %x[%row, %k] : memref<64x64xf16>
        %v = memref.load %y[%k, %column] : memref<64x64xf16>
        %u32 = arith.extf %u : f16 to f32
        %v32 = arith.extf %v : f16 to f32
        %uv = arith.mulf %u32, %v32 : f32
        %next = arith.addf %sum, %uv : f32
        scf.yield %next : f32
      }
      %stored = memref.load %out[%row, %column] : memref<64x64xf32>
      %same = arith.cmpf oeq, %sum, %stored : f32
      cf.assert %same, "another product"
    }
    gpu.return
  }
}
