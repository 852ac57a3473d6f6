// Structured sparsity: the left operand has half of its columns.
//
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --implicit-check-not=gpux.wait_group --implicit-check-not=gpu.barrier --implicit-check-not=nvgpu.device
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 pipeline=true" | async-translate --ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
//
// CHECK: scf.for
// CHECK:   gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpu.barrier
// CHECK:   gpux.commit_group <cp_async>
// CHECK:   scf.yield
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpu.barrier
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpu.barrier

#copy_row = affine_map<()[s0] -> (s0 floordiv 2)>
#copy_a = affine_map<()[s0] -> ((s0 mod 2) * 8)>
#copy_b = affine_map<()[s0] -> ((s0 mod 2) * 4)>
#half = affine_map<()[s0] -> ((s0 floordiv 16) * 8)>
#row = affine_map<()[s0] -> (s0 mod 16)>
#quad = affine_map<()[s0] -> (s0 floordiv 4)>
#quad8 = affine_map<()[s0] -> (s0 floordiv 4 + 8)>
#pair = affine_map<()[s0] -> ((s0 mod 4) * 2)>
#sum = affine_map<()[s0, s1] -> (s0 + s1)>
!GA = memref<16x128xf16>
!GB = memref<256x8xf16>
!C = memref<16x8xf32>
!SA = memref<16x16xf16, #gpu.address_space<workgroup>>
!SB = memref<32x8xf16, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @gemm(%a: !GA, %b: !GB, %c: !C) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %row = affine.apply #copy_row()[%t]
    %ca = affine.apply #copy_a()[%t]
    %cb = affine.apply #copy_b()[%t]
    %lr = affine.apply #row()[%t]
    %lc = affine.apply #half()[%t]
    %zero = arith.constant dense<0.0> : vector<2x2xf32>
    // The first two of each four columns.
    %meta = arith.constant dense<0x4444> : vector<2xi16>
    %sa = memref.alloc() : !SA
    %sb = memref.alloc() : !SB
    %acc = scf.for %k = %c0 to %c128 step %c16 iter_args(%x = %zero) -> (vector<2x2xf32>) {
      %ka = affine.apply #sum()[%k, %ca]
      %kb = affine.apply #sum()[%k, %row]
      %r2 = affine.apply affine_map<()[s0, s1] -> (2 * s0 + s1)>()[%k, %t]
      %t0 = nvgpu.device_async_copy %a[%row, %ka], %sa[%row, %ca], 8 {bypassL1} : !GA to !SA
      %t1 = nvgpu.device_async_copy %b[%r2, %c0], %sb[%t, %c0], 8 : !GB to !SB
      %g = nvgpu.device_async_create_group %t0, %t1
      nvgpu.device_async_wait %g
      gpu.barrier
      %fa = nvgpu.ldmatrix %sa[%lr, %lc] {numTiles = 4 : i32, transpose = false} : !SA -> vector<4x2xf16>
      %fb0 = nvgpu.ldmatrix %sb[%lr, %c0] {numTiles = 2 : i32, transpose = true} : !SB -> vector<2x2xf16>
      %lr16 = arith.addi %lr, %c16 : index
      %fb1 = nvgpu.ldmatrix %sb[%lr16, %c0] {numTiles = 2 : i32, transpose = true} : !SB -> vector<2x2xf16>
      %z4 = arith.constant dense<0.0> : vector<4x2xf16>
      %i0 = vector.insert_strided_slice %fb0, %z4 {offsets = [0, 0], strides = [1, 1]} : vector<2x2xf16> into vector<4x2xf16>
      %fb = vector.insert_strided_slice %fb1, %i0 {offsets = [2, 0], strides = [1, 1]} : vector<2x2xf16> into vector<4x2xf16>
      %d = nvgpu.mma.sp.sync(%fa, %fb, %x) metadata(%meta) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      gpu.barrier
      scf.yield %d : vector<2x2xf32>
    } {async.num_stages = 3}
    %q = affine.apply #quad()[%t]
    %q8 = affine.apply #quad8()[%t]
    %p = affine.apply #pair()[%t]
    %top = vector.extract %acc[0] : vector<2xf32> from vector<2x2xf32>
    %bottom = vector.extract %acc[1] : vector<2xf32> from vector<2x2xf32>
    vector.store %top, %c[%q, %p] : !C, vector<2xf32>
    vector.store %bottom, %c[%q8, %p] : !C, vector<2xf32>
    gpu.return
  }
}
