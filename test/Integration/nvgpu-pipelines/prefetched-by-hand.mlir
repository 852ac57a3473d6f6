// A loop that starts the next tile itself, and has two slots: there is nothing left to start early. It stays as it is.
//
// RUN: async-opt %s --async-pipeline -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file %t.mlir --implicit-check-not=async.await --implicit-check-not=async.num_stages
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 pipeline=true" | async-translate --ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
//
// REMARK: remark: is not pipelined
// REMARK: note: 'gpux.copy' op may access the same memory, but the schedule executes this one first
// REMARK: note: iterations can't have versions of this buffer: where it is written depends on the iteration
//
// CHECK: scf.for
// CHECK:   nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// CHECK:   scf.yield
// CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}

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
!GB = memref<128x8xf16>
!C = memref<16x8xf32>
!SA = memref<2x16x16xf16, #gpu.address_space<workgroup>>
!SB = memref<2x16x8xf16, #gpu.address_space<workgroup>>
#slot = affine_map<()[s0] -> ((s0 floordiv 16) mod 2)>
#next = affine_map<()[s0] -> (((s0 floordiv 16) + 1) mod 2)>

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
    %c1 = arith.constant 1 : index
    %sa = memref.alloc() : !SA
    %sb = memref.alloc() : !SB
    %p0 = nvgpu.device_async_copy %a[%row, %ca], %sa[%c0, %row, %ca], 8 : !GA to !SA
    %p1 = nvgpu.device_async_copy %b[%row, %cb], %sb[%c0, %row, %cb], 4 : !GB to !SB
    %pg = nvgpu.device_async_create_group %p0, %p1
    %c112 = arith.constant 112 : index
    %part, %last = scf.for %k = %c0 to %c112 step %c16 iter_args(%x = %zero, %ready = %pg) -> (vector<2x2xf32>, !nvgpu.device.async.token) {
      %nk = arith.addi %k, %c16 : index
      %s = affine.apply #slot()[%k]
      %ns = affine.apply #next()[%k]
      %ka = affine.apply #sum()[%nk, %ca]
      %kb = affine.apply #sum()[%nk, %row]
      %t0 = nvgpu.device_async_copy %a[%row, %ka], %sa[%ns, %row, %ca], 8 : !GA to !SA
      %t1 = nvgpu.device_async_copy %b[%kb, %cb], %sb[%ns, %row, %cb], 4 : !GB to !SB
      %g = nvgpu.device_async_create_group %t0, %t1
      nvgpu.device_async_wait %ready {numGroups = 1 : i32}
      gpu.barrier
      %fa = nvgpu.ldmatrix %sa[%s, %lr, %lc] {numTiles = 4 : i32, transpose = false} : !SA -> vector<4x2xf16>
      %fb = nvgpu.ldmatrix %sb[%s, %lr, %c0] {numTiles = 2 : i32, transpose = true} : !SB -> vector<2x2xf16>
      %d = nvgpu.mma.sync(%fa, %fb, %x) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      gpu.barrier
      scf.yield %d, %g : vector<2x2xf32>, !nvgpu.device.async.token
    } {async.num_stages = 3}
    nvgpu.device_async_wait %last {numGroups = 0 : i32}
    gpu.barrier
    %fa = nvgpu.ldmatrix %sa[%c1, %lr, %lc] {numTiles = 4 : i32, transpose = false} : !SA -> vector<4x2xf16>
    %fb = nvgpu.ldmatrix %sb[%c1, %lr, %c0] {numTiles = 2 : i32, transpose = true} : !SB -> vector<2x2xf16>
    %acc = nvgpu.mma.sync(%fa, %fb, %part) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>

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
