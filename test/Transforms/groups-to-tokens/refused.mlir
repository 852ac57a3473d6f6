// What stays in counted form, and why.
//
// RUN: async-opt %s --split-input-file --allow-unregistered-dialect --gpux-groups-to-tokens --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @call
func.func private @callee(!dst)
func.func @call(%src: !src, %dst: !dst, %i: index) {
  // CHECK: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // expected-remark @below {{queue cp_async stays in counted form: 'func.call' may use the queue; inline it first}}
  func.call @callee(%dst) : (!dst) -> ()
  // CHECK: gpux.wait_group <cp_async>, 0
  gpux.wait_group <cp_async>, 0
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @assembly
func.func @assembly(%src: !src, %dst: !dst, %i: index) {
  // CHECK: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // expected-remark @below {{queue cp_async stays in counted form: 'llvm.inline_asm' may use the queue; inline it first}}
  llvm.inline_asm has_side_effects "cp.async.wait_all;", "" : () -> ()
  gpux.wait_group <cp_async>, 0
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @tokens_already
func.func @tokens_already(%src: !src, %dst: !dst, %i: index) {
  // CHECK: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // expected-remark @below {{queue cp_async stays in counted form: this is in token form already}}
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  gpux.wait_group <cp_async>, 0
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @unknown_regions
func.func @unknown_regions(%src: !src, %dst: !dst, %i: index) {
  // CHECK: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // expected-remark @below {{queue cp_async stays in counted form: tokens can't be carried through 'test.regions'}}
  "test.regions"() ({
    gpux.wait_group <cp_async>, 0
  }) : () -> ()
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// A caller may wait for the copy.
// CHECK-LABEL: func.func @in_flight
// expected-remark @below {{queue cp_async stays in counted form: the function is no kernel, and may return while groups are in flight, which a caller may wait for}}
func.func @in_flight(%src: !src, %dst: !dst, %i: index) {
  // CHECK: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @token_of_nvgpu
func.func @token_of_nvgpu(%src: !src, %dst: !dst, %i: index) -> !nvgpu.device.async.token {
  %t = nvgpu.device_async_copy %src[%i], %dst[%i], 1 : !src to !dst
  // CHECK: nvgpu.device_async_create_group
  %g = nvgpu.device_async_create_group %t
  nvgpu.device_async_wait %g
  // expected-remark @below {{queue cp_async stays in counted form: a token of nvgpu goes where it can't be followed}}
  return %g : !nvgpu.device.async.token
}

// -----

// CHECK-LABEL: func.func @nothing_known
func.func @nothing_known() {
  // CHECK: gpux.commit_group <wgmma>
  // expected-remark @below {{queue wgmma stays in counted form: no operation is known that this is about}}
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}

// -----

// The hardware takes only the six lowest bits of it.
// CHECK-LABEL: func.func @count
func.func @count(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %to, %from, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.wait.group 100
  // expected-remark @below {{queue cp_async stays in counted form: the count of this wait is not from 0 to 63}}
  nvvm.cp.async.wait.group 100
  return
}

// -----

!line = memref<1024xf32, #gpu.address_space<workgroup>>
!out = memref<1024xf32>

// Who issues is not known.
// CHECK-LABEL: func.func @unguarded
func.func @unguarded(%line: !line, %out: !out) {
  // CHECK: gpux.bulk_store %
  // expected-remark @below {{queue bulk stays in counted form: this store is not in an scf.if on gpux.elect, so it may not be issued for the whole block}}
  gpux.bulk_store %line, %out : !line to !out
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  return
}

// -----

!line = memref<1024xf32, #gpu.address_space<workgroup>>
!out = memref<1024xf32>

// The leader writes to the buffer as soon as it may; an await would have all threads come together first.
// CHECK-LABEL: func.func @no_barrier
func.func @no_barrier(%line: !line, %out: !out, %i: index, %x: f32) {
  %leader = gpux.elect
  // CHECK: scf.if
  // CHECK-NEXT: gpux.bulk_store %
  scf.if %leader {
    gpux.bulk_store %line, %out : !line to !out
  }
  gpux.commit_group <bulk>
  // expected-remark @below {{queue bulk stays in counted form: only the thread that issues stores knows that this wait is over: a barrier has to follow}}
  gpux.wait_group <bulk>, 0 read
  scf.if %leader {
    memref.store %x, %line[%i] : !line
  }
  return
}

// -----

!line = memref<1024xf32, #gpu.address_space<workgroup>>
!out = memref<1024xf32>

// CHECK-LABEL: func.func @leader_does_more
func.func @leader_does_more(%line: !line, %out: !out, %i: index, %x: f32) {
  %leader = gpux.elect
  scf.if %leader {
    // expected-remark @below {{queue bulk stays in counted form: the thread that issues stores does more there, such as 'memref.store'}}
    memref.store %x, %line[%i] : !line
    // CHECK: gpux.bulk_store %
    gpux.bulk_store %line, %out : !line to !out
  }
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  gpu.barrier
  return
}

// -----

!line = memref<1024xf32, #gpu.address_space<workgroup>>
!out = memref<1024xf32>

// CHECK-LABEL: func.func @divergent
func.func @divergent(%line: !line, %out: !out, %n: index) {
  %leader = gpux.elect
  %x = gpu.thread_id x
  %few = arith.cmpi ult, %x, %n : index
  scf.if %few {
    // CHECK: gpux.bulk_store %
    // expected-remark @below {{queue bulk stays in counted form: threads of the block differ in whether they execute this, and all of them await a store together}}
    scf.if %leader {
      gpux.bulk_store %line, %out : !line to !out
    }
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    gpu.barrier
  }
  return
}

// -----

// The second copy may be in flight in ^bb2 or not: a token would have to come there. Blocks of LLVM have no arguments of that type.
// CHECK-LABEL: llvm.func @branch_of_llvm
llvm.func @branch_of_llvm(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>, %c: i1) attributes {nvvm.kernel} {
  nvvm.cp.async.shared.global %to, %from, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  // expected-remark @below {{queue cp_async stays in counted form: tokens can't be handed on by 'llvm.cond_br', which takes types of its dialect alone; run this pass before branches are lowered to that}}
  llvm.cond_br %c, ^bb1, ^bb2
^bb1:
  nvvm.cp.async.shared.global %to, %from, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  llvm.br ^bb2
^bb2:
  // CHECK: nvvm.cp.async.wait.group 0
  nvvm.cp.async.wait.group 0
  llvm.return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// The same if copies themselves have tokens.
// CHECK-LABEL: func.func @switch_of_llvm
func.func @switch_of_llvm(%src: !src, %dst: !dst, %i: index, %way: i32) {
  // CHECK: gpux.copy %
  // CHECK-NEXT: gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // expected-remark @below {{queue cp_async stays in counted form: tokens can't be handed on by 'llvm.switch', which takes types of its dialect alone; run this pass before branches are lowered to that}}
  llvm.switch %way : i32, ^bb2 [
    0: ^bb1,
    1: ^bb1
  ]
^bb1:
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  cf.br ^bb2
^bb2:
  // CHECK: gpux.wait_group <cp_async>, 0
  gpux.wait_group <cp_async>, 0
  return
}
