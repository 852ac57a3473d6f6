// Helpers that start block-wide loads and that make the buffers for them: tokens and buffers of a ring come from calls.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: async-sim %s --kernel=kernel --arg 0=ramp --print | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --pass-pipeline="builtin.module(gpu.module(gpux-inline-calls,gpux-allocs-to-globals,gpux-tokens-to-mbarriers))" | async-sim --kernel=kernel --arg 0=ramp --print | FileCheck %s --check-prefix=SIM

!Buffer = memref<256xf32, #gpu.address_space<workgroup>>
!Global = memref<256xf32>

// Each call has a buffer of its own.
// CHECK-DAG: .b8 __wg_kernel_alloc_0[1024]
// CHECK-DAG: .b8 __wg_kernel_alloc_1[1024]
// CHECK: cp.async.bulk.shared
// CHECK: mbarrier.try_wait
gpu.module @kernels {
  func.func @load(%src: !Global, %dst: !Buffer) -> !async.token {
    %t = gpux.bulk_load async %src, %dst : !Global to !Buffer
    return %t : !async.token
  }
  func.func @stage() -> !Buffer {
    %a = memref.alloc() : !Buffer
    return %a : !Buffer
  }
  // SIM: kernel: clean
  // SIM: argument 1: 0 1 2 3
  gpu.func @kernel(%src: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %i = gpu.thread_id x
    %a = func.call @stage() : () -> !Buffer
    %b = func.call @stage() : () -> !Buffer
    %first = func.call @load(%src, %a) : (!Global, !Buffer) -> !async.token
    %last:3 = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %first, %this = %a, %next = %b)
        -> (!async.token, !Buffer, !Buffer) {
      %u = func.call @load(%src, %next) : (!Global, !Buffer) -> !async.token
      async.await %t
      %x = memref.load %this[%i] : !Buffer
      memref.store %x, %out[%i] : !Global
      gpu.barrier
      scf.yield %u, %next, %this : !async.token, !Buffer, !Buffer
    }
    async.await %last#0
    gpu.return
  }
}
