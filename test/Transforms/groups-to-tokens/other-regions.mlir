// What else tokens are carried through.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @affine
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = affine.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] = %[[A]]) -> (!async.token) {
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[OLD]]
// CHECK-NEXT: affine.yield %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = affine.if #{{.*}} -> !async.token {
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: affine.yield %
// CHECK-NEXT: } else {
// CHECK-NEXT: affine.yield %[[R]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[S]]
func.func @affine(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  affine.for %k = 0 to 8 {
    gpux.copy %src[%k], %dst[%k], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 1
  }
  affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%i) {
    gpux.wait_group <cp_async>, 0
  }
  gpux.wait_group <cp_async>, 0
  return
}

// A case that issues nothing leaves what is there.
// CHECK-LABEL: func.func @cases
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]]:2 = scf.index_switch %{{[a-z0-9]+}} -> !async.token, !async.token
// CHECK-NEXT: case 0 {
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: scf.yield %[[A]], %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: scf.yield %{{.*}}, %[[A]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]#0
// CHECK-NEXT: async.await %[[R]]#1
func.func @cases(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.index_switch %i
  case 0 {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
    scf.yield
  }
  default {
  }
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// Blocks in a region: tokens are arguments where they meet, and go out at its end.
// CHECK-LABEL: func.func @blocks_of_a_region
// CHECK: %[[R:[a-z0-9_]+]] = scf.execute_region -> !async.token {
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: cf.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2(%[[A]] : !async.token)
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: cf.br ^bb2(%{{[a-z0-9]+}} : !async.token)
// CHECK-NEXT: ^bb2(%[[X:[a-z0-9_]+]]: !async.token):
// CHECK-NEXT: scf.yield %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]
func.func @blocks_of_a_region(%src: !src, %dst: !dst, %i: index, %c: i1) {
  scf.execute_region {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    gpux.wait_group <cp_async>, 0
    cf.br ^bb2
  ^bb2:
    scf.yield
  }
  gpux.wait_group <cp_async>, 0
  return
}

// A kernel that is not outlined yet.
// CHECK-LABEL: func.func @launch
// CHECK: gpu.launch
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: gpu.terminator
func.func @launch(%src: !src, %i: index) {
  gpu.launch blocks(%a, %b, %c) in (%d = %i, %e = %i, %f = %i)
             threads(%x, %y, %z) in (%u = %i, %v = %i, %w = %i)
             workgroup(%dst : !dst) {
    gpux.copy %src[%x], %dst[%x], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.terminator
  }
  return
}
