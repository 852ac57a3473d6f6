// Races between the host and the device, each with both places, and accesses of memory that is elsewhere.

// RUN: async-sim %s --entry=awaited --schedule=exhaustive | FileCheck %s --check-prefix=AWAITED
// RUN: not async-sim %s --entry=read_too_early | FileCheck %s --check-prefix=LATE
// RUN: not async-sim %s --entry=read_too_early --schedule=early | FileCheck %s --check-prefix=READ
// RUN: not async-sim %s --entry=freed_in_use --schedule=early | FileCheck %s --check-prefix=FREED
// RUN: not async-sim %s --entry=freed_in_use --schedule=exhaustive | FileCheck %s --check-prefixes=USED
// RUN: not async-sim %s --entry=two_kernels | FileCheck %s --check-prefix=KERNELS
// RUN: not async-sim %s --entry=before_allocation | FileCheck %s --check-prefix=ALLOCATION
// RUN: not async-sim %s --entry=on_device | FileCheck %s --check-prefix=DEVICE
// RUN: not async-sim %s --entry=pageable | FileCheck %s --check-prefix=PAGEABLE
// RUN: not async-sim %s --entry=sizes | FileCheck %s --check-prefix=SIZES
// RUN: not async-sim %s --entry=in_kernel | FileCheck %s --check-prefix=INSIDE

!host = memref<4xi32>
!device = memref<4xi32, #gpu.address_space<global>>

gpu.module @kernels {
  gpu.func @increment(%m: !device) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %old = memref.load %m[%t] : !device
    %new = arith.addi %old, %one : i32
    memref.store %new, %m[%t] : !device
    gpu.return
  }
  gpu.func @increment_on_host(%m: !host) kernel {
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    memref.store %one, %m[%t] : !host
    gpu.return
  }
  gpu.func @same_place(%m: !device) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    memref.store %i, %m[%c0] : !device
    gpu.return
  }
}

func.func private @printMemrefI32(memref<*xi32>)

func.func @fill(%h: !host) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %n = arith.index_cast %i : index to i32
    memref.store %n, %h[%i] : !host
  }
  return
}

// AWAITED: [1, 2, 3, 4]
// AWAITED-NEXT: awaited: clean
func.func @awaited() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : !host
  call @fill(%h) : (!host) -> ()
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.transfer async [%t0] %h, %d : !host to !device
  %t2 = gpux.async_launch async [%t1] @kernels::@increment blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1)
      args(%d : !device)
  %t3 = gpux.transfer async [%t2] %d, %h : !device to !host
  %t4 = gpux.dealloc async [%t3] %d : !device
  async.await %t3, %t4
  %any = memref.cast %h : !host to memref<*xi32>
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  return
}

// READ: races.mlir:[[#@LINE+15]]:{{[0-9]+}}: error: RAW race: memref.load reads what another task writes, and nothing orders the two
// READ-NEXT: this: @read_too_early itself
// READ-NEXT: against: gpux.transfer at
// LATE: races.mlir:[[#@LINE+10]]:{{[0-9]+}}: error: WAR race: gpux.transfer writes what another task reads, and nothing orders the two
// LATE: against: memref.load at
func.func @read_too_early() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : !host
  call @fill(%h) : (!host) -> ()
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.transfer async [%t0] %h, %d : !host to !device
  %t2 = gpux.async_launch async [%t1] @kernels::@increment blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d : !device)
  %t3 = gpux.transfer async [%t2] %d, %h : !device to !host
  async.await %t2
  %n = memref.load %h[%c1] : !host
  async.await %t3
  return
}

// FREED: error: gpux.dealloc: ends the life of the buffer of
// FREED: against: gpux.async_launch at
// USED: error: memref.load: the buffer of {{.*}} was deallocated before
func.func @freed_in_use() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.memset async [%t0] %zero, %d : !device
  %t2 = gpux.async_launch async [%t1] @kernels::@increment blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d : !device)
  %t3 = gpux.dealloc async [%t1] %d : !device
  async.await %t2, %t3
  return
}

// KERNELS: races.mlir:[[#@LINE+10]]:{{[0-9]+}}: error: WAW race: gpux.async_launch writes what another task writes
// KERNELS: against: gpux.async_launch at
func.func @two_kernels() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.memset async [%t0] %zero, %d : !device
  %t2 = gpux.async_launch async [%t1] @kernels::@increment blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d : !device)
  // As a dependency, %t2 would make it right.
  %t3 = gpux.async_launch async [%t1] @kernels::@increment blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d : !device)
  async.await %t2, %t3
  return
}

// ALLOCATION: error: WAW race: {{gpux.memset|gpux.alloc}} writes what another task writes, and nothing orders the two
func.func @before_allocation() {
  %zero = arith.constant 0 : i32
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.memset async %zero, %d : !device
  async.await %t0, %t1
  return
}

// DEVICE: error: memref.load: the host accesses the buffer of {{.*}}, which is memory of the device
// DEVICE: help: transfer the data
func.func @on_device() {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %d, %t0 = gpux.alloc async () : !device
  %t1 = gpux.memset async [%t0] %zero, %d : !device
  async.await %t1
  %n = memref.load %d[%c1] : !device
  return
}

// PAGEABLE: error: memref.store: the kernel accesses the buffer of {{.*}}, which is pageable memory of the host
func.func @pageable() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : !host
  %t = gpux.async_launch async @kernels::@increment_on_host blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%h : !host)
  async.await %t
  return
}

// SIZES: error: gpux.transfer: dimension 0 has size 5 where data is transferred from, and 4 where it goes
func.func @sizes() {
  %c5 = arith.constant 5 : index
  %h = memref.alloc(%c5) : memref<?xi32>
  %d, %t0 = gpux.alloc async () : !device
  %any = memref.cast %d : !device to memref<?xi32, #gpu.address_space<global>>
  %t1 = gpux.transfer async [%t0] %h, %any : memref<?xi32> to memref<?xi32, #gpu.address_space<global>>
  async.await %t1
  return
}

// What is wrong in a kernel is told as if it ran alone.
// INSIDE: error: WAW race: memref.store writes where another thread writes by the same operation
// INSIDE-NEXT: this: thread 1 of block 0
// INSIDE: in_kernel: not clean
func.func @in_kernel() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %d, %t0 = gpux.alloc async () : !device
  %t = gpux.async_launch async [%t0] @kernels::@same_place blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d : !device)
  async.await %t
  return
}
