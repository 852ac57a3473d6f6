// Kernels that are code for the interpreter already: what `--gpu-module-to-binary` makes for the simulated device runs here, too.

// RUN: async-opt %s --gpux-attach-sim-target --gpu-module-to-binary | async-opt run --device=sim | FileCheck %s
// RUN: async-opt %s --gpux-attach-sim-target --gpu-module-to-binary | sed s/memref.store/memref.stone/ | not async-opt run 2>&1 | FileCheck %s --check-prefix=DAMAGED

// CHECK: 7
// DAMAGED: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error: the code is damaged: its hash is not that of what was written

!d = memref<4xi32, #gpu.address_space<global>>
!h = memref<4xi32>
gpu.module @kernels {
  gpu.func @fill(%x: !d, %value: i32) kernel {
    %i = gpu.thread_id x
    memref.store %value, %x[%i] : !d
    gpu.return
  }
}

func.func private @printI64(i64)
func.func private @printNewline()
func.func @main() {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %seven = arith.constant 7 : i32
  %h = memref.alloc() : !h
  %x, %made = gpux.alloc async () : !d
  %filled = gpux.async_launch async [%made] @kernels::@fill blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%x, %seven : !d, i32)
  %copied = gpux.transfer async [%filled] %x, %h : !d to !h
  %freed = gpux.dealloc async [%copied] %x : !d
  async.await %copied, %freed
  %last = memref.load %h[%c3] : !h
  %wide = arith.extsi %last : i32 to i64
  call @printI64(%wide) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %h : !h
  return
}
