// The simulated device knows what tokens order, and reports accesses of its memory that nothing does: under every schedule, with both places.

// RUN: not async-opt run %s --device=sim 2>&1 | FileCheck %s
// RUN: not async-opt run %s --device=sim:early 2>&1 | FileCheck %s
// RUN: not async-opt run %s --device=sim:random:1 2>&1 | FileCheck %s
// RUN: not async-opt run %s --device=sim --entry=two_copies 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not async-opt run %s --device=sim:early --entry=two_copies 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not async-opt run %s --device=sim --entry=launches 2>&1 | FileCheck %s --check-prefix=LAUNCHES
// RUN: not async-opt run %s --device=sim --threads=2 --entry=blocks 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not --crash async-opt run %s --device=sim --entry=launch_on_freed 2>&1 | FileCheck %s --check-prefix=LAUNCH-ON-FREED
// RUN: not --crash async-opt run %s --device=sim --entry=freed 2>&1 | FileCheck %s --check-prefix=FREED
// RUN: async-opt run %s --device=sim --entry=ordered 2>&1 | FileCheck %s --check-prefix=ORDERED --allow-empty
// RUN: async-opt run %s --device=sim:early --entry=ordered 2>&1 | FileCheck %s --check-prefix=ORDERED --allow-empty
// RUN: async-opt run %s --device=host

!host = memref<4xi32>
!device = memref<4xi32, #gpu.address_space<global>>

gpu.module @kernels {
  // Writes the first two elements, and reads the others.
  gpu.func @half(%m: !device) kernel {
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %from = arith.addi %t, %c2 : index
    %x = memref.load %m[%from] : !device
    memref.store %x, %m[%t] : !device
    gpu.return
  }

  // Each block writes an element.
  gpu.func @number(%m: !device) kernel {
    %b = gpu.block_id x
    %x = arith.index_cast %b : index to i32
    memref.store %x, %m[%b] : !device
    gpu.return
  }
}

// The host copies what a memset may not have written yet.
// CHECK: races.mlir:{{(47:8|48:3)}}: error: {{(WAR race: gpux.transfer .* reads and gpux.memset .* writes|RAW race: gpux.memset .* writes and gpux.transfer .* reads)}} bytes 0 to 15 of
// CHECK-NEXT: races.mlir:{{(47:8|48:3)}}: note: gpux.{{(transfer|memset).*}} is here
func.func @main() {
  %one = arith.constant 1 : i32
  %h = memref.alloc() : !host
  %m, %t = gpux.alloc async () : !device
  async.await %t
  %u = gpux.memset async [%t] %one, %m : !device
  gpux.transfer %m, %h : !device to !host
  async.await %u
  gpux.dealloc %m : !device
  memref.dealloc %h : !host
  return
}

// COPIES: races.mlir:{{(61|62)}}:8: error: WAW race: gpux.transfer {{.*}} writes and gpux.transfer
// COPIES-NEXT: races.mlir:{{(61|62)}}:8: note: gpux.transfer
func.func @two_copies() {
  %one = arith.constant 1 : i32
  %h = memref.alloc() : !host
  %m, %t = gpux.alloc async () : !device
  %u = gpux.transfer async [%t] %h, %m : !host to !device
  %v = gpux.transfer async [%t] %h, %m : !host to !device
  %w = gpux.dealloc async [%u, %v] %m : !device
  async.await %w
  memref.dealloc %h : !host
  return
}

// Kernels race by the bytes that they access: these two write the first half, which a copy reads, and read the second half.
// LAUNCHES-DAG: error: WAW race: gpux.async_launch {{.*}} writes and gpux.async_launch {{.*}} writes bytes 0 to 7
// LAUNCHES-NOT: RAW
func.func @launches() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  %m, %t = gpux.alloc async () : !device
  %s = gpux.memset async [%t] %one, %m : !device
  %u = gpux.async_launch async [%s] @kernels::@half blocks (%c1, %c1, %c1) threads (%c2, %c1, %c1) args(%m : !device)
  %v = gpux.async_launch async [%s] @kernels::@half blocks (%c1, %c1, %c1) threads (%c2, %c1, %c1) args(%m : !device)
  %w = gpux.dealloc async [%u, %v] %m : !device
  async.await %w
  return
}

// Blocks may run at a time, and their accesses are seen all the same.
// BLOCKS: error: WAW race: gpux.async_launch {{.*}} writes and gpux.async_launch {{.*}} writes bytes
func.func @blocks() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m, %t = gpux.alloc async () : !device
  %u = gpux.async_launch async [%t] @kernels::@number blocks (%c4, %c1, %c1) threads (%c1, %c1, %c1) args(%m : !device)
  %v = gpux.async_launch async [%t] @kernels::@number blocks (%c4, %c1, %c1) threads (%c1, %c1, %c1) args(%m : !device)
  %w = gpux.dealloc async [%u, %v] %m : !device
  async.await %w
  return
}

// A launch whose kernel uses what was freed fails.
// LAUNCH-ON-FREED:      races.mlir:[[#@LINE+8]]:8: error: gpux.async_launch (call 3): uses bytes 0 to {{[0-9]+}} of the allocation of gpux.alloc (call 1), which gpux.dealloc (call 2) has freed
// LAUNCH-ON-FREED-NEXT: races.mlir:[[#@LINE+6]]:3: note: gpux.dealloc (call 2) is here
func.func @launch_on_freed() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m, %t = gpux.alloc async () : !device
  async.await %t
  gpux.dealloc %m : !device
  %u = gpux.async_launch async @kernels::@number blocks (%c4, %c1, %c1) threads (%c1, %c1, %c1) args(%m : !device)
  async.await %u
  return
}

// The memset comes late. In another order, memory would be freed in use.
// FREED:      races.mlir:[[#@LINE+7]]:8: error: gpux.memset (call 3): uses bytes 0 to 15 of the allocation of gpux.alloc (call 1), which gpux.dealloc (call 2) has freed
// FREED-NEXT: races.mlir:[[#@LINE+7]]:3: note: gpux.dealloc (call 2) is here
// FREED-NEXT: races.mlir:[[#@LINE+7]]:3: note: awaited here
func.func @freed() {
  %one = arith.constant 1 : i32
  %m, %t = gpux.alloc async () : !device
  async.await %t
  %u = gpux.memset async [%t] %one, %m : !device
  gpux.dealloc %m : !device
  async.await %u
  return
}

// ORDERED-NOT: {{.}}
func.func @ordered() {
  %one = arith.constant 1 : i32
  %h = memref.alloc() : !host
  %m, %t = gpux.alloc async () : !device
  %u, %n = async.region [%t] -> (!device) {
    %a = gpux.memset async %one, %m : !device
    async.await %a
    gpux.transfer %m, %h : !device to !host
    %b = gpux.memset async %one, %m : !device
    async.yield %m, %b : !device, !async.token
  }
  %c = async.region [%u] {
    %d = gpux.memset async %one, %m : !device
    async.yield %d : !async.token
  }
  %e = async.join %c, %t
  %v = gpux.dealloc async [%e] %m : !device
  async.await %v
  memref.dealloc %h : !host
  return
}
