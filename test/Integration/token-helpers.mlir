// Functions that hand out and take tokens, all the way to PTX, and under the simulator as they stand.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: async-sim %s --kernel=kernel --block=32 --arg 0=ramp --print | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --pass-pipeline="builtin.module(gpu.module(gpux-inline-calls),gpux-tokens-to-groups)" | async-sim --kernel=kernel --block=32 --arg 0=ramp --print | FileCheck %s --check-prefix=SIM
//
// Who forgets to inline is told what to do.
//
// RUN: not async-opt %s --gpux-tokens-to-groups --gpux-to-nvvm 2>&1 | FileCheck %s --check-prefix=BY-HAND
// BY-HAND: error: a token that is a function argument has no known queue

!Global = memref<64xf32>
!Buffer = memref<32xf32, #gpu.address_space<workgroup>>

// The second load may stay in flight while the first is read.
// CHECK: cp.async.ca.shared.global
// CHECK: cp.async.commit_group
// CHECK: cp.async.ca.shared.global
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group 1
// CHECK: cp.async.wait_group 0
gpu.module @kernels {
  func.func private @wait(%t: !async.token) {
    async.await %t
    return
  }
  func.func @load(%src: !Global, %dst: !Buffer, %from: index) -> !async.token {
    %t = gpu.thread_id x
    %i = arith.addi %from, %t : index
    %token = gpux.copy async %src[%i], %dst[%t], 1 : !Global to !Buffer
    return %token : !async.token
  }
  // SIM: kernel: clean
  // SIM: argument 1: 0 1 2 3
  gpu.func @kernel(%src: !Global, %out: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %j = arith.addi %t, %c32 : index
    %first = func.call @load(%src, %a, %c0) : (!Global, !Buffer, index) -> !async.token
    %second = func.call @load(%src, %b, %c32) : (!Global, !Buffer, index) -> !async.token
    func.call @wait(%first) : (!async.token) -> ()
    %x = memref.load %a[%t] : !Buffer
    memref.store %x, %out[%t] : !Global
    func.call @wait(%second) : (!async.token) -> ()
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %out[%j] : !Global
    gpu.return
  }
}
