// A wait of nvgpu without a count is meant for its token: what --nvgpu-exact-waits relaxes refines it.
//
// RUN: async-opt %s --nvgpu-exact-waits -o %t.mlir
// RUN: FileCheck %s --check-prefix=COUNTS --input-file=%t.mlir
// RUN: async-sim %t.mlir --kernel=two --refines=%s | FileCheck %s
// RUN: sed s/numGroups\ =\ 1/numGroups\ =\ 2/ %t.mlir > %t.loose.mlir
// RUN: not async-sim %t.loose.mlir --kernel=two --refines=%s | FileCheck %s --check-prefix=LOOSE

!global = memref<8xf32>
!shared = memref<8xf32, #gpu.address_space<workgroup>>

// COUNTS: nvgpu.device_async_wait {{.*}} {numGroups = 1 : i32}
// COUNTS: nvgpu.device_async_wait {{.*}} {numGroups = 0 : i32}
// CHECK: two: clean
// LOOSE: two
func.func @two(%src: !global, %dst: !global) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : !shared
  %b = memref.alloc() : !shared
  %copy0 = nvgpu.device_async_copy %src[%c0], %a[%c0], 4 : !global to !shared
  %group0 = nvgpu.device_async_create_group %copy0
  %copy1 = nvgpu.device_async_copy %src[%c0], %b[%c0], 4 : !global to !shared
  %group1 = nvgpu.device_async_create_group %copy1
  nvgpu.device_async_wait %group0
  %x = memref.load %a[%c0] : !shared
  memref.store %x, %dst[%c0] : !global
  nvgpu.device_async_wait %group1
  %y = memref.load %b[%c0] : !shared
  memref.store %y, %dst[%c0] : !global
  return
}

// The token of a copy stands for the group that the copy is in. Before there is one, nothing is waited for.
//
// RUN: async-sim %s --kernel=no_group_yet --refines=%s | FileCheck %s --check-prefix=NONE
// RUN: sed -e "/THE WAIT/d" %s > %t.without.mlir
// RUN: async-sim %t.without.mlir --kernel=no_group_yet --refines=%s | FileCheck %s --check-prefix=NONE
// RUN: sed -e "/THE OTHER WAIT/d" %s > %t.late.mlir
// RUN: not async-sim %t.late.mlir --kernel=no_group_yet --refines=%s | FileCheck %s --check-prefix=LATE
// NONE: no_group_yet: clean
// NONE-NOT: error
// LATE: no_group_yet: error: memref.load at {{.*}} is reached while a copy may be in flight
func.func @no_group_yet(%src: !global, %dst: !global) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloc() : !shared
  %copy = nvgpu.device_async_copy %src[%c0], %a[%c0], 4 : !global to !shared
  nvgpu.device_async_wait %copy // THE WAIT
  %x = memref.load %src[%c4] : !global
  %group = nvgpu.device_async_create_group %copy
  nvgpu.device_async_wait %copy // THE OTHER WAIT
  %y = memref.load %a[%c0] : !shared
  return
}
