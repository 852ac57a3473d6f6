// Where copies can't have tokens, their groups have: what is awaited is the same.
//
// RUN: async-opt %s --split-input-file --gpux-groups-to-tokens='weaken=false' --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --split-input-file --gpux-groups-to-tokens='weaken=false group-tokens=false' | FileCheck %s --check-prefix=COUNTED

// No memref has these addresses.
// CHECK-LABEL: func.func @pointers
// COUNTED-LABEL: func.func @pointers
func.func @pointers(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>, %i: index, %n: index) {
  // CHECK: nvvm.cp.async.shared.global
  // CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.commit_group async <cp_async>
  // COUNTED: nvvm.cp.async.commit.group
  // expected-remark @below {{queue cp_async has tokens of groups, and not of copies: its address is not computed from a memref}}
  nvvm.cp.async.shared.global %to, %from, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  // CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] = %[[A]]) -> (!async.token) {
  // CHECK-NEXT: nvvm.cp.async.shared.global
  // CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.commit_group async <cp_async>
  // CHECK-NEXT: async.await %[[OLD]]
  // CHECK-NEXT: scf.yield %[[NEW]]
  // COUNTED: nvvm.cp.async.wait.group 1
  scf.for %k = %i to %n step %i {
    nvvm.cp.async.shared.global %to, %from, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
  }
  // CHECK: async.await %[[R]]
  // COUNTED: nvvm.cp.async.wait.group 0
  nvvm.cp.async.wait.group 0
  return
}

// -----

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// How many groups there are is not known, and some are empty. Tokens of copies would be counted without those.
// CHECK-LABEL: func.func @empty_groups
// expected-remark @below {{queue cp_async has tokens of groups, and not of copies: counted again, a wait would complete more than it does here, since groups of different sizes meet}}
func.func @empty_groups(%src: !src, %dst: !dst, %i: index, %n: index) {
  // CHECK: gpux.copy %
  // CHECK-NEXT: gpux.commit_group async <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // CHECK: scf.for
  scf.for %k = %i to %n step %i {
    // CHECK: %[[E:[a-z0-9_]+]] = gpux.commit_group async <cp_async>
    gpux.commit_group <cp_async>
  }
  // CHECK: gpux.copy %
  // CHECK-NEXT: gpux.commit_group async <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  // CHECK: async.await
  gpux.wait_group <cp_async>, 2
  // CHECK: async.await
  gpux.wait_group <cp_async>, 0
  return
}

// -----

// What is read of the source may end in the middle of an element.
// CHECK-LABEL: func.func @bytes_of_elements
// CHECK: nvvm.cp.async.shared.global
// CHECK-NEXT: %[[G:[a-z0-9_]+]] = gpux.commit_group async <cp_async>
// CHECK-NEXT: async.await %[[G]]
// COUNTED-LABEL: func.func @bytes_of_elements
func.func @bytes_of_elements(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %bytes: i32) {
  %d = memref.extract_aligned_pointer_as_index %dst : memref<64xf32, 3> -> index
  %di = arith.index_cast %d : index to i64
  %to = llvm.inttoptr %di : i64 to !llvm.ptr<3>
  %s = memref.extract_aligned_pointer_as_index %src : memref<64xf32> -> index
  %si = arith.index_cast %s : index to i64
  %from = llvm.inttoptr %si : i64 to !llvm.ptr<1>
  // expected-remark @below {{queue cp_async has tokens of groups, and not of copies: the bytes that it reads are not known to be whole elements: compute them as a multiple of 4}}
  nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  return
}

// -----

// Branches of LLVM hand on no tokens. None has to be where one copy alone may be in flight.
// CHECK-LABEL: llvm.func @branches_of_llvm
llvm.func @branches_of_llvm(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>, %c: i1) attributes {nvvm.kernel} {
  // CHECK: %[[A:[a-z0-9_]+]] = gpux.commit_group async <cp_async>
  // expected-remark @below {{queue cp_async has tokens of groups, and not of copies: its address is not computed from a memref}}
  nvvm.cp.async.shared.global %to, %from, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  // CHECK: llvm.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2
  // COUNTED: llvm.cond_br
  llvm.cond_br %c, ^bb1, ^bb2
^bb1:
  // CHECK: llvm.br ^bb2
  llvm.br ^bb2
^bb2:
  // CHECK: async.await %[[A]]
  // COUNTED: nvvm.cp.async.wait.group 0
  nvvm.cp.async.wait.group 0
  llvm.return
}

// -----

!src = memref<64x4xf32>
!dst = memref<4x4xf32, 3>

// Commits are gone where tokens are counted again, and with them the places after them: in those that are left, no commits are as
// good as these.
// CHECK-LABEL: func.func @commits_that_leave_no_place
// expected-remark @below {{queue cp_async has tokens of groups, and not of copies: counted again, a wait would complete more than it does here, since groups of different sizes meet}}
func.func @commits_that_leave_no_place(%src: !src, %dst: !dst, %n: index, %p: i1) {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpux.copy %src[%c1, %t], %dst[%c0, %t], 1 : !src to !dst
  // CHECK: gpux.commit_group async <cp_async>
  gpux.commit_group <cp_async>
  gpux.copy %src[%c0, %t], %dst[%c1, %t], 1 : !src to !dst
  // CHECK: scf.for
  scf.for %i = %c0 to %c2 step %c2 {
    // CHECK: gpux.commit_group async <cp_async>
    gpux.commit_group <cp_async>
    gpux.copy %src[%c2, %t], %dst[%c2, %t], 1 : !src to !dst
    // CHECK: gpux.commit_group async <cp_async>
    gpux.commit_group <cp_async>
    scf.if %p {
      // CHECK: scf.while
      %r = scf.while (%v = %c0) : (index) -> index {
        // CHECK: async.await
        gpux.wait_group <cp_async>, 2
        %more = arith.cmpi ult, %v, %n : index
        scf.condition(%more) %v : index
      } do {
      ^bb0(%v: index):
        // CHECK: gpux.commit_group async <cp_async>
        gpux.commit_group <cp_async>
        // CHECK: gpux.commit_group async <cp_async>
        gpux.commit_group <cp_async>
        %w = arith.addi %v, %c1 : index
        scf.yield %w : index
      }
    }
  }
  // CHECK: async.await
  gpux.wait_group <cp_async>, 0
  return
}
