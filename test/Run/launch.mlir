// RUN: async-opt run %s --threads=2 | FileCheck %s
// RUN: not --crash async-opt run %s --entry=race 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: not --crash async-opt run %s --entry=unknown 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// A host program in the LLVM dialect, and kernels that the interpreter runs on its memory: 8 numbers are copied to the device, each gets
// 10 more by a thread of its own, and they are copied back. The whole runs in a task.

// CHECK:      Unranked Memref base@ = {{.*}} rank = 1 offset = 0 sizes = [8] strides = [1] data =
// CHECK-NEXT: [10, 11, 12, 13, 14, 15, 16, 17]

// A launch fails as its task does, with what the interpreter says.
// RACE:      launch.mlir:7:7: error: kernel 'kernels::race': {{.*}}WAW
// RACE:      launch.mlir:8:8: note: awaited here

// UNKNOWN: launch.mlir:7:7: error: there is no kernel 'kernels::nowhere': there are kernels::add, kernels::race

gpu.module @kernels {
  gpu.func @add(%m: memref<?xi32, strided<[?], offset: ?>>, %n: i32) kernel {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %d = gpu.block_dim x
    %base = arith.muli %b, %d : index
    %i = arith.addi %base, %t : index
    %x = memref.load %m[%i] : memref<?xi32, strided<[?], offset: ?>>
    %y = arith.addi %x, %n : i32
    memref.store %y, %m[%i] : memref<?xi32, strided<[?], offset: ?>>
    gpu.return
  }

  gpu.func @race(%m: memref<?xi32, strided<[?], offset: ?>>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %x = arith.index_cast %t : index to i32
    memref.store %x, %m[%c0] : memref<?xi32, strided<[?], offset: ?>>
    gpu.return
  }
}

llvm.func @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_frame(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_submit(!llvm.ptr)
llvm.func @asyncopt_rt_release(!llvm.ptr)
llvm.func @asyncopt_rt_await_or_abort(!llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_device_alloc(!llvm.ptr, i32, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_device_dealloc(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @asyncopt_rt_device_transfer(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
llvm.func @asyncopt_rt_device_launch(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
llvm.func @printMemrefI32(i64, !llvm.ptr)

llvm.mlir.global internal constant @add_name("kernels::add\00")
llvm.mlir.global internal constant @race_name("kernels::race\00")
llvm.mlir.global internal constant @unknown_name("kernels::nowhere\00")
llvm.mlir.global internal constant @here("launch.mlir:7:7\00")
llvm.mlir.global internal constant @awaited("launch.mlir:8:8\00")
llvm.mlir.global internal @numbers(dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>) : !llvm.array<8 x i32>

// Two blocks of four threads.
llvm.mlir.global internal constant @sizes(dense<[2, 1, 1, 4, 1, 1, 1, 1, 1, 0]> : tensor<10xi64>) : !llvm.array<10 x i64>

// The body of the task: its frame has the name of the kernel.
llvm.func internal @body(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 {
  %done = llvm.mlir.constant(0 : i32) : i32
  %device = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %eight = llvm.mlir.constant(8 : i64) : i64
  %bytes = llvm.mlir.constant(32 : i64) : i64
  %n = llvm.mlir.constant(10 : i32) : i32
  %here = llvm.mlir.addressof @here : !llvm.ptr
  %numbers = llvm.mlir.addressof @numbers : !llvm.ptr
  %sizes = llvm.mlir.addressof @sizes : !llvm.ptr
  %name = llvm.load %frame : !llvm.ptr -> !llvm.ptr

  %memory = llvm.call @asyncopt_rt_device_alloc(%self, %device, %bytes, %here) : (!llvm.ptr, i32, i64, !llvm.ptr) -> !llvm.ptr
  %in = llvm.call @asyncopt_rt_device_transfer(%self, %device, %memory, %numbers, %bytes, %here) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32

  // The values: the two pointers, offset, size and stride of the memref, and a number.
  %values = llvm.alloca %one x !llvm.struct<(ptr, ptr, i64, i64, i64, i32)> : (i64) -> !llvm.ptr
  %v0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v1 = llvm.insertvalue %memory, %v0[0] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v2 = llvm.insertvalue %memory, %v1[1] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v3 = llvm.insertvalue %zero, %v2[2] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v4 = llvm.insertvalue %eight, %v3[3] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v5 = llvm.insertvalue %one, %v4[4] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %v6 = llvm.insertvalue %n, %v5[5] : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  llvm.store %v6, %values : !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>, !llvm.ptr

  // Pointers to them.
  %count = llvm.mlir.constant(6 : i64) : i64
  %pointers = llvm.alloca %one x !llvm.array<6 x ptr> : (i64) -> !llvm.ptr
  %p0 = llvm.getelementptr %values[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %p1 = llvm.getelementptr %values[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %p2 = llvm.getelementptr %values[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %p3 = llvm.getelementptr %values[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %p4 = llvm.getelementptr %values[0, 4] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %p5 = llvm.getelementptr %values[0, 5] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64, i64, i64, i32)>
  %a0 = llvm.mlir.undef : !llvm.array<6 x ptr>
  %a1 = llvm.insertvalue %p0, %a0[0] : !llvm.array<6 x ptr>
  %a2 = llvm.insertvalue %p1, %a1[1] : !llvm.array<6 x ptr>
  %a3 = llvm.insertvalue %p2, %a2[2] : !llvm.array<6 x ptr>
  %a4 = llvm.insertvalue %p3, %a3[3] : !llvm.array<6 x ptr>
  %a5 = llvm.insertvalue %p4, %a4[4] : !llvm.array<6 x ptr>
  %a6 = llvm.insertvalue %p5, %a5[5] : !llvm.array<6 x ptr>
  llvm.store %a6, %pointers : !llvm.array<6 x ptr>, !llvm.ptr
  %launched = llvm.call @asyncopt_rt_device_launch(%self, %device, %name, %sizes, %pointers, %count, %here) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32

  %out = llvm.call @asyncopt_rt_device_transfer(%self, %device, %numbers, %memory, %bytes, %here) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  %freed = llvm.call @asyncopt_rt_device_dealloc(%self, %device, %memory, %here) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %done : i32
}

llvm.mlir.global internal constant @type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.zero : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %run = llvm.mlir.addressof @body : !llvm.ptr
  %eight = llvm.mlir.constant(8 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %eight, %1[3] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %3 = llvm.insertvalue %eight, %2[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %3 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

// Starts a task that launches the kernel, and awaits it.
llvm.func internal @launch(%name: !llvm.ptr) {
  %type = llvm.mlir.addressof @type : !llvm.ptr
  %awaited = llvm.mlir.addressof @awaited : !llvm.ptr
  %t = llvm.call @asyncopt_rt_create(%type) : (!llvm.ptr) -> !llvm.ptr
  %frame = llvm.call @asyncopt_rt_frame(%t) : (!llvm.ptr) -> !llvm.ptr
  llvm.store %name, %frame : !llvm.ptr, !llvm.ptr
  llvm.call @asyncopt_rt_submit(%t) : (!llvm.ptr) -> ()
  llvm.call @asyncopt_rt_await_or_abort(%t, %awaited) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  llvm.return
}

llvm.func @main() {
  %name = llvm.mlir.addressof @add_name : !llvm.ptr
  llvm.call @launch(%name) : (!llvm.ptr) -> ()
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %eight = llvm.mlir.constant(8 : i64) : i64
  %numbers = llvm.mlir.addressof @numbers : !llvm.ptr
  %memref = llvm.alloca %one x !llvm.struct<(ptr, ptr, i64, i64, i64)> : (i64) -> !llvm.ptr
  %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  %1 = llvm.insertvalue %numbers, %0[0] : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  %2 = llvm.insertvalue %numbers, %1[1] : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  %3 = llvm.insertvalue %zero, %2[2] : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  %4 = llvm.insertvalue %eight, %3[3] : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  %5 = llvm.insertvalue %one, %4[4] : !llvm.struct<(ptr, ptr, i64, i64, i64)>
  llvm.store %5, %memref : !llvm.struct<(ptr, ptr, i64, i64, i64)>, !llvm.ptr
  llvm.call @printMemrefI32(%one, %memref) : (i64, !llvm.ptr) -> ()
  llvm.return
}

llvm.func @race() {
  %name = llvm.mlir.addressof @race_name : !llvm.ptr
  llvm.call @launch(%name) : (!llvm.ptr) -> ()
  llvm.return
}

llvm.func @unknown() {
  %name = llvm.mlir.addressof @unknown_name : !llvm.ptr
  llvm.call @launch(%name) : (!llvm.ptr) -> ()
  llvm.return
}
