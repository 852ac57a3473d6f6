// Fences between multiplications in flight: all that ptxas wants, of which it says nothing then, and where nothing needs one, none. Each
// is an instruction, WARPGROUP.ARRIVE, and so is one that ptxas adds (C7519).
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: nvdisasm %t.cubin > %t.sass
// RUN: FileCheck %s --input-file %t.sass --check-prefix=STRAIGHT
// RUN: FileCheck %s --input-file %t.sass --check-prefix=BRANCH
// RUN: FileCheck %s --input-file %t.sass --check-prefix=SUNK
//
// Without the second ones of @branch and @sunk:
// RUN: awk '/\.entry/ { n = 0 } /wgmma.fence/ && n++ == 1 { next } { print }' %t.ptx > %t.less.ptx
// RUN: ptxas -arch=sm_90a %t.less.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=LESS

// SILENT-NOT: {{.}}

// LESS-DAG: (C7519) warpgroup.arrive is injected {{.*}} 'branch'
// LESS-DAG: (C7519) warpgroup.arrive is injected {{.*}} 'sunk'

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!numbers = memref<256xf32>

gpu.module @k {
  // An accumulator that begins with zeros, and a block that is run once: no branch is left.
  // STRAIGHT: .text.straight:
  // STRAIGHT: WARPGROUP.ARRIVE
  // STRAIGHT-NOT: WARPGROUP.ARRIVE
  // STRAIGHT: EXIT
  gpu.func @straight(%x: !map, %out: memref<64x64xf32>, %more: memref<64x64xf32>, %numbers: !numbers) workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %db = nvgpu.warpgroup.generate.descriptor %b, %x : !tile, !map -> !m
    %z0 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %da, %z0 : !m, !m, !acc
    %z1 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %u = gpux.wgmma async %db, %da, %z1 : !m, !m, !acc
    memref.alloca_scope {
      memref.store %one, %numbers[%tid] : !numbers
      gpu.barrier
    }
    %f, %v = gpux.wgmma async %db, %db, %d : !m, !m, !acc
    async.await %u, %v
    nvgpu.warpgroup.mma.store %e, %out : !acc to memref<64x64xf32>
    nvgpu.warpgroup.mma.store %f, %more : !acc to memref<64x64xf32>
    gpu.return
  }

  // A branch is left.
  // BRANCH: .text.branch:
  // BRANCH-COUNT-2: WARPGROUP.ARRIVE
  // BRANCH-NOT: WARPGROUP.ARRIVE
  // BRANCH: EXIT
  gpu.func @branch(%x: !map, %p: i1, %out: memref<64x64xf32>, %numbers: !numbers) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %da, %z : !m, !m, !acc
    scf.if %p {
      %n = memref.load %numbers[%tid] : !numbers
      %q = arith.divf %one, %n : f32
      memref.store %q, %numbers[%tid] : !numbers
    }
    %e, %u = gpux.wgmma async %da, %da, %d : !m, !m, !acc
    async.await %u
    nvgpu.warpgroup.mma.store %e, %out : !acc to memref<64x64xf32>
    gpu.return
  }

  // A store alone would be predicated. But LLVM moves what is stored into the arm, and that makes it a branch.
  // SUNK: .text.sunk:
  // SUNK-COUNT-2: WARPGROUP.ARRIVE
  // SUNK-NOT: WARPGROUP.ARRIVE
  // SUNK: EXIT
  gpu.func @sunk(%x: !map, %p: i1, %out: memref<64x64xf32>, %numbers: !numbers) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %da, %z : !m, !m, !acc
    %n = memref.load %numbers[%tid] : !numbers
    %n1 = math.fma %n, %n, %one : f32
    %n2 = math.fma %n1, %n, %one : f32
    %n3 = math.fma %n2, %n, %one : f32
    %n4 = math.fma %n3, %n, %one : f32
    %n5 = math.fma %n4, %n, %one : f32
    %n6 = math.fma %n5, %n, %one : f32
    %n7 = math.fma %n6, %n, %one : f32
    %n8 = math.fma %n7, %n, %one : f32
    %n9 = math.fma %n8, %n, %one : f32
    %n10 = math.fma %n9, %n, %one : f32
    %n11 = math.fma %n10, %n, %one : f32
    %n12 = math.fma %n11, %n, %one : f32
    %n13 = math.fma %n12, %n, %one : f32
    %n14 = math.fma %n13, %n, %one : f32
    %n15 = math.fma %n14, %n, %one : f32
    %n16 = math.fma %n15, %n, %one : f32
    %n17 = math.fma %n16, %n, %one : f32
    %n18 = math.fma %n17, %n, %one : f32
    %n19 = math.fma %n18, %n, %one : f32
    %n20 = math.fma %n19, %n, %one : f32
    %n21 = math.fma %n20, %n, %one : f32
    %n22 = math.fma %n21, %n, %one : f32
    %n23 = math.fma %n22, %n, %one : f32
    %n24 = math.fma %n23, %n, %one : f32
    scf.if %p {
      memref.store %n24, %numbers[%tid] : !numbers
    }
    %e, %u = gpux.wgmma async %da, %da, %d : !m, !m, !acc
    async.await %u
    nvgpu.warpgroup.mma.store %e, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
