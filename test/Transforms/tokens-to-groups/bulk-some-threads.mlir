// A store of all threads together is not for some of them.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-groups

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @if_first_thread(%a: !shared, %dst: !global) {
  // expected-note @+1 {{this differs between threads}}
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %x, %c0 : index
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.if %first {
    // expected-error @+1 {{'gpux.bulk_store' op has to be executed by all threads of the block, but the 'scf.if' around it depends on 'gpu.thread_id', which differs between threads}}
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @if_leader(%a: !shared, %dst: !global) {
  // expected-note @+1 {{this differs between threads}}
  %leader = gpux.elect
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.if %leader {
    // expected-error @+1 {{'async.await' op has to be executed by all threads of the block, but the 'scf.if' around it depends on 'gpux.elect'}}
    async.await %r0
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @lanes_own_trips(%a: !shared, %dst: !global) {
  // expected-note @+1 {{this differs between threads}}
  %lane = gpu.lane_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.for %k = %c0 to %lane step %c1 {
    // expected-error @+1 {{'gpux.bulk_store' op has to be executed by all threads of the block, but the 'scf.for' around it depends on 'gpu.lane_id'}}
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @while(%a: !shared, %dst: !global, %n: index) {
  // expected-note @+1 {{this differs between threads}}
  %x = gpu.thread_id x
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.while : () -> () {
    %more = arith.cmpi ult, %x, %n : index
    scf.condition(%more)
  } do {
    // expected-error @+1 {{'gpux.bulk_store' op has to be executed by all threads of the block, but the 'scf.while' around it depends on 'gpu.thread_id'}}
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
    scf.yield
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @forall(%a: !shared, %dst: !global) {
  // expected-note @+1 {{threads diverge here: move the operation out of it}}
  scf.forall (%i) in (4) {
    // expected-error @+1 {{'gpux.bulk_store' op has to be executed by all threads of the block, but the 'scf.forall' around it is executed by some threads only}}
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
func.func @launch(%a: !shared, %dst: !global, %n: index) {
  // expected-note @+1 {{run --gpu-kernel-outlining first}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    // expected-error @+1 {{'gpux.bulk_store' op is in a gpu.launch, which is not a function yet}}
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
    gpu.terminator
  }
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
// What all threads know alike is no reason to refuse.
func.func @uniform(%a: !shared, %dst: !global, %c: i1) {
  %b = gpu.block_id x
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %b, %c0 : index
  scf.if %first {
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
    async.await %d0
  }
  return
}
