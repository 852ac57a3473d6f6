// Branches between blocks: tokens arrive as block arguments.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false' | FileCheck %s --check-prefixes=CHECK,PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @loop
// CHECK: gpux.commit_group
// CHECK-NEXT: cf.br ^bb1{{$}}
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: cf.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2{{$}}
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @loop(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^loop(%a : !t)
^loop(%x: !t):
  %next = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %x
  cf.cond_br %c, ^loop(%next : !t), ^exit(%next : !t)
^exit(%last: !t):
  async.await %last
  return
}

// A token is used where its block dominates, without an argument. Equal arms share the commit after them.
// CHECK-LABEL: func.func @dominating_token
// CHECK: ^bb1:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: cf.br ^bb3
// CHECK: ^bb2:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: cf.br ^bb3
// CHECK: ^bb3:
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @dominating_token(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %c, ^left, ^right
^left:
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^meet
^right:
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^meet
^meet:
  async.await %a
  return
}

// A loop that can be entered at two places.
// CHECK-LABEL: func.func @irreducible
// CHECK: cf.cond_br
// CHECK: ^bb1:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: cf.br ^bb2
// CHECK: ^bb2:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: cf.cond_br
func.func @irreducible(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %c, ^one(%a : !t), ^two(%a : !t)
^one(%x: !t):
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %x
  cf.br ^two(%b : !t)
^two(%y: !t):
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %y
  cf.cond_br %c, ^one(%d : !t), ^exit
^exit:
  return
}

// A switch: the least of all ways. The default brings the younger token along.
// CHECK-LABEL: func.func @switch
// CHECK: cf.switch %{{[a-z0-9]+}} : i32, [
// CHECK-NEXT: default: ^bb3,
// CHECK-NEXT: 0: ^bb1,
// CHECK-NEXT: 5: ^bb3
// CHECK: ^bb3:
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @switch(%src: !src, %dst: !dst, %i: index, %flag: i32) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.switch %flag : i32, [
    default: ^meet(%b : !t),
    0: ^more,
    5: ^meet(%a : !t)
  ]
^more:
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^through
^through:
  cf.br ^meet(%a : !t)
^meet(%x: !t):
  async.await %x
  return
}

// The same block for both ways, with different tokens.
// CHECK-LABEL: func.func @both_ways_to_one_block
// CHECK: cf.cond_br %{{[a-z0-9]+}}, ^bb1(%{{[a-z0-9]+}} : index), ^bb1(%{{[a-z0-9_]+}} : index)
// CHECK-NEXT: ^bb1(%[[K:[a-z0-9]+]]: index):
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return %[[K]] : index
func.func @both_ways_to_one_block(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) -> index {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %c, ^meet(%a, %i : !t, index), ^meet(%b, %n : !t, index)
^meet(%x: !t, %k: index):
  async.await %x
  return %k : index
}
