// Symbols as the assembler needs them.
//
// RUN: async-opt %s --pass-pipeline='builtin.module(gpu.module(legalize-for-ptx))' | FileCheck %s

// CHECK-LABEL: gpu.module @buffers
gpu.module @buffers {
  // The launch says how large dynamic shared memory is.
  // CHECK: llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>
  llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<64 x f32>
  // CHECK: llvm.mlir.global internal @aligned() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x f32>
  llvm.mlir.global internal @aligned() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x f32>
  // No elements, but not in shared memory.
  // CHECK: llvm.mlir.global internal @elsewhere() {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @elsewhere() {addr_space = 1 : i32} : !llvm.array<0 x i8>
}

// --gpux-to-nvvm notes at the module how dynamic shared memory has to be aligned, since it has no symbol there yet.
//
// CHECK-LABEL: gpu.module @dynamic_alignment {
gpu.module @dynamic_alignment attributes {gpux.dynamic_alignment = 128 : i64} {
  // CHECK: llvm.mlir.global external @less() {addr_space = 3 : i32, alignment = 128 : i64}
  llvm.mlir.global internal @less() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.mlir.global external @more() {addr_space = 3 : i32, alignment = 1024 : i64}
  llvm.mlir.global internal @more() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
}

// What is one instruction takes no library; other calls are linked later. Functions of the program stay as they are.
//
// CHECK-LABEL: gpu.module @calls
gpu.module @calls {
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @__nv_fmaf(f32, f32, f32) -> f32
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @sqrtf(f32) -> f32
  // CHECK-LABEL: llvm.func @f
  // CHECK-NEXT: llvm.intr.sqrt(%{{.*}}) {mark} : (f32) -> f32
  // CHECK-NEXT: llvm.intr.fma(
  // CHECK-NEXT: llvm.call @__nv_expf(
  // CHECK-NEXT: llvm.call @sqrtf(
  llvm.func @f(%x: f32) -> f32 {
    %a = llvm.call @__nv_sqrtf(%x) {mark} : (f32) -> f32
    %b = llvm.call @__nv_fmaf(%a, %x, %x) : (f32, f32, f32) -> f32
    %c = llvm.call @__nv_expf(%b) : (f32) -> f32
    %d = llvm.call @sqrtf(%c) : (f32) -> f32
    llvm.return %d : f32
  }
}

// An address in memory of the block is one in memory of the cluster, in 32 bits, also where it would become a generic one on the way.
//
// CHECK-LABEL: gpu.module @cluster
gpu.module @cluster {
  // CHECK-LABEL: llvm.func @directly
  // CHECK-NOT: addrspacecast
  // CHECK: %[[LONG:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i64
  // CHECK: %[[SHORT:.*]] = llvm.inline_asm "cvt.u32.u64 $0, $1;", "=r,l" %[[LONG]]
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[SHORT]] : i32 to i64
  // CHECK: %[[CLUSTER:.*]] = llvm.inttoptr %[[WIDE]] : i64 to !llvm.ptr<7>
  // CHECK: llvm.return %[[CLUSTER]]
  llvm.func @directly(%p: !llvm.ptr<3>) -> !llvm.ptr<7> {
    %q = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr<7>
    llvm.return %q : !llvm.ptr<7>
  }

  // CHECK-LABEL: llvm.func @by_a_generic_one
  // CHECK: llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i64
  llvm.func @by_a_generic_one(%p: !llvm.ptr<3>) -> !llvm.ptr<7> {
    %g = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr
    %q = llvm.addrspacecast %g : !llvm.ptr to !llvm.ptr<7>
    llvm.return %q : !llvm.ptr<7>
  }

  // What is generic may be in another block's.
  // CHECK-LABEL: llvm.func @generic
  // CHECK: llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<7>
  llvm.func @generic(%p: !llvm.ptr) -> !llvm.ptr<7> {
    %q = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<7>
    llvm.return %q : !llvm.ptr<7>
  }
}
