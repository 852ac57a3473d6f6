// All threads of a warpgroup have to execute a multiplication and its await. Which warpgroup it is may differ.
//
// RUN: async-opt %s --split-input-file --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // The second warpgroup multiplies, and the first one of three by its number.
  // CHECK-LABEL: gpu.func @whole_warpgroups
  // CHECK-COUNT-3: gpux.wait_group <wgmma>, 0
  gpu.func @whole_warpgroups(%a: !m) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c127 = arith.constant 127 : i32
    %c7 = arith.constant 7 : index
    %x = gpu.thread_id x
    %number = arith.index_cast %x : index to i32
    %second = arith.cmpi ugt, %number, %c127 : i32
    scf.if %second {
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    %warpgroup = arith.divui %x, %c128 : index
    %first = arith.cmpi eq, %warpgroup, %c0 : index
    scf.if %first {
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    %shifted = arith.shrui %x, %c7 : index
    scf.for %i = %c0 to %shifted step %c128 {
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @half {
  gpu.func @half(%a: !m) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c64 = arith.constant 64 : index
    // expected-note @+1 {{this differs between threads}}
    %x = gpu.thread_id x
    %half = arith.cmpi ult, %x, %c64 : index
    // expected-note @+1 {{threads diverge here: move the operation out of it}}
    scf.if %half {
      // expected-error @+1 {{'gpux.wgmma' op has to be executed by all threads of the warpgroup, but the 'scf.if' around it depends on 'gpu.thread_id', which differs between threads}}
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    gpu.return
  }
}

// -----

// In rows of 192 threads, 128 threads of a row are not always a warpgroup.
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @rows {
  gpu.func @rows(%a: !m) kernel attributes {known_block_size = array<i32: 192, 2, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c128 = arith.constant 128 : index
    // expected-note @+1 {{this differs between threads}}
    %x = gpu.thread_id x
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    %first = arith.cmpi ult, %x, %c128 : index
    // expected-note @+1 {{threads diverge here: move the operation out of it}}
    scf.if %first {
      // expected-error @+1 {{'async.await' op has to be executed by all threads of the warpgroup}}
      async.await %t
    }
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  gpu.func @branches(%a: !m) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c64 = arith.constant 64 : index
    // expected-note@+1 {{this differs between threads}}
    %x = gpu.thread_id x
    %first = arith.cmpi ult, %x, %c64 : index
    // expected-note@+1 {{threads diverge here: move the operation to where all come by}}
    cf.cond_br %first, ^some, ^all
  ^some:
    // expected-error@+1 {{has to be executed by all threads of the warpgroup, but how control comes to its block depends on 'gpu.thread_id', which differs between threads}}
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    async.await %t
    cf.br ^all
  ^all:
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // All threads come by where branches meet again.
  // CHECK-LABEL: gpu.func @meets
  // CHECK: gpux.wait_group <wgmma>, 0
  gpu.func @meets(%a: !m, %out: memref<128xf32>, %f: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c64 = arith.constant 64 : index
    %x = gpu.thread_id x
    %first = arith.cmpi ult, %x, %c64 : index
    cf.cond_br %first, ^some, ^all
  ^some:
    memref.store %f, %out[%x] : memref<128xf32>
    cf.br ^all
  ^all:
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    async.await %t
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  gpu.func @two_warps(%a: !m) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %thread = gpu.thread_id x
    %first = arith.cmpi ult, %thread, %c64 : index
    scf.if %first {
      // expected-note@+2 {{a warpgroup is four warps, the first of which is a multiple of four: let the role be of these}}
      // expected-error@+1 {{has to be executed by whole warpgroups, but is by warps 0 and 1 alone}}
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // expected-note@+1 {{make the block larger, or let only whole warpgroups come by, with an scf.if on the number of the warp}}
  gpu.func @five_warps(%a: !m) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-error@+1 {{is for whole warpgroups, of 128 threads, and not all in the block of 160 x 1 x 1 are}}
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    async.await %t
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @four_of_five_warps
  // CHECK: gpux.wait_group <wgmma>, 0
  gpu.func @four_of_five_warps(%a: !m) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c4 = arith.constant 4 : index
    %w = gpu.subgroup_id : index
    %multiplies = arith.cmpi ult, %w, %c4 : index
    scf.if %multiplies {
      %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
      async.await %t
    }
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // expected-note@+1 {{let all threads of known_block_size be in x}}
  gpu.func @two_dimensions(%a: !m, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 64, 2, 1>} {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    async.await %t
    // expected-error@+1 {{assumes a one-dimensional block, but the block has 64 x 2 x 1 threads}}
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
