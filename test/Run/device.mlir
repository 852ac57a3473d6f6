// On the simulated device, operations end as late as they may: who reads a result without awaiting its token does not find it. A
// transfer over the end of a buffer is an error, and so is any call that is told to fail.

// RUN: async-opt run %s --device=sim | FileCheck %s --check-prefixes=LATE,AWAITED
// RUN: async-opt run %s --device=sim:early | FileCheck %s --check-prefix=AWAITED
// RUN: async-opt run %s --device=sim:random:1 | FileCheck %s --check-prefix=AWAITED
// RUN: async-opt run %s --device=host | FileCheck %s --check-prefix=AWAITED
// RUN: not --crash async-opt run %s --device=sim --entry=too_far 2>&1 | FileCheck %s --check-prefix=TOO-FAR
// RUN: not async-opt run %s --device=gpu 2>&1 | FileCheck %s --check-prefix=OTHER

!device = memref<?xf32, #gpu.address_space<global>>

func.func private @printF32(f32)
func.func private @printNewline()

func.func @show(%x: f32) {
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %h = memref.alloc(%c1) : memref<?xf32>
  memref.store %zero, %h[%c0] : memref<?xf32>
  %r = async.ready
  %m, %t0 = gpux.alloc async [%r] (%c1) : !device
  %t1 = gpux.memset async [%t0] %one, %m : !device
  %t2 = gpux.transfer async [%t1] %m, %h : !device to memref<?xf32>

  // LATE: 0
  %early = memref.load %h[%c0] : memref<?xf32>
  call @show(%early) : (f32) -> ()

  // AWAITED: 1
  async.await %t2
  %late = memref.load %h[%c0] : memref<?xf32>
  call @show(%late) : (f32) -> ()

  %t3 = gpux.dealloc async [%t2] %m : !device
  async.await %t3
  memref.dealloc %h : memref<?xf32>
  return
}

// TOO-FAR: device.mlir:[[#@LINE+10]]:{{[0-9]+}}: error: gpux.transfer (call 2): uses bytes 0 to 31 of the allocation of gpux.alloc (call 1), which has 4 bytes
// OTHER: async-opt run: --device: 'gpu' is no device: give host, cuda, sim, sim:late, sim:early or sim:random:SEED
func.func @too_far() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %h = memref.alloc(%c8) : memref<?xf32>
  %r = async.ready
  %m, %t0 = gpux.alloc async [%r] (%c1) : !device
  async.await %t0
  %far = memref.reinterpret_cast %m to offset: [0], sizes: [%c8], strides: [1] : !device to memref<?xf32, strided<[1]>, #gpu.address_space<global>>
  %t1 = gpux.transfer async [%t0] %h, %far : memref<?xf32> to memref<?xf32, strided<[1]>, #gpu.address_space<global>>
  async.await %t1
  return
}
