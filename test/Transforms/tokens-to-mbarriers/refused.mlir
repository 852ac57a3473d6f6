// What all threads together do must be reached by all, and phases must be followed through control flow that is known.
//
// RUN: not async-opt %s --gpux-tokens-to-mbarriers=war=x --split-input-file 2>&1 | FileCheck %s
// CHECK: error: {{.*}}war is 'x', but must be barrier or mbarrier
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --gpux-tokens-to-mbarriers

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @some_threads(%x: !line, %a: !row) {
  // expected-note @+1 {{this differs between threads}}
  %tid = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %tid, %c0 : index
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.if %first {
    // expected-error @+1 {{'gpux.bulk_load' op has to be executed by all threads of the block, but the 'scf.if' around it depends on 'gpu.thread_id', which differs between threads}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
  }
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @trips_of_each_thread(%x: !line, %a: !row) {
  // expected-note @+1 {{this differs between threads}}
  %lane = gpu.lane_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.for %k = %c0 to %lane step %c1 {
    // expected-error @+1 {{'gpux.bulk_load' op has to be executed by all threads of the block, but the 'scf.for' around it depends on 'gpu.lane_id'}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
  }
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @forall(%x: !line, %a: !row) {
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.forall (%i) in (4) {
    // expected-error @+1 {{'gpux.bulk_load' op has to be executed by all threads of the block, but the 'scf.forall' around it is executed by some threads only}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
  }
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @launch(%x: !line, %a: !row, %n: index) {
  // expected-note @+1 {{run --gpu-kernel-outlining first}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    // expected-error @+1 {{'gpux.bulk_load' op is in a gpu.launch, which is not a function yet}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.terminator
  }
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
// expected-error @+2 {{'func.func' op has branches between blocks, in which phases of mbarriers can't be followed}}
// expected-note @+1 {{run --lift-cf-to-scf first}}
func.func @branches(%x: !line, %a: !row, %p: i1) {
  %t = gpux.bulk_load async %x, %a : !line to !row
  cf.cond_br %p, ^then, ^end
^then:
  async.await %t
  cf.br ^end
^end:
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @branches_inside(%x: !line, %a: !row, %p: i1) {
  // expected-error @+2 {{'scf.execute_region' op has branches between blocks, in which phases of mbarriers can't be followed}}
  // expected-note @+1 {{run --lift-cf-to-scf first}}
  scf.execute_region {
    %t = gpux.bulk_load async %x, %a : !line to !row
    cf.cond_br %p, ^then, ^end
  ^then:
    async.await %t
    cf.br ^end
  ^end:
    scf.yield
  }
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @unknown_operation(%x: !line, %a: !row) {
  // expected-note @+1 {{move the operation out of it}}
  "unknown.region"() ({
    // expected-error @+1 {{'gpux.bulk_load' op has to be executed by all threads of the block, but the 'unknown.region' around it}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    "unknown.end"() : () -> ()
  }) : () -> ()
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
// What completes a token from outside, it does not say.
// expected-error @+2 {{a token that is a function argument has no known queue}}
// expected-note @+1 {{await it in the caller, or run --gpux-inline-calls first}}
func.func @token_from_outside(%x: !line, %a: !row, %t: !async.token) {
  async.await %t
  %u = gpux.bulk_load async %x, %a : !line to !row
  async.await %u
  return
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
func.func @trips_of_an_affine_loop(%x: !line, %a: !row) {
  // expected-note @+1 {{this differs between threads}}
  %id = gpu.global_id x
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  affine.for %k = 0 to %id {
    // expected-error @+1 {{'gpux.bulk_load' op has to be executed by all threads of the block, but the 'affine.for' around it depends on 'gpu.global_id'}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
  }
  return
}
