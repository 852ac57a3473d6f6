// What no sane front end makes is translated nonetheless: what is never reached has no wait, and what can't be read gets the
// sound answer.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @empty
// CHECK-NEXT: return
func.func @empty() {
  return
}

// CHECK-LABEL: func.func @unreachable_blocks
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
// CHECK: ^bb1:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: cf.br ^bb2{{$}}
// CHECK: cf.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2{{$}}
func.func @unreachable_blocks(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a
  return
^dead:
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^deader(%b : !t)
^deader(%x: !t):
  async.await %x, %a
  cf.cond_br %c, ^dead, ^deader(%x : !t)
}

// CHECK-LABEL: func.func @infinite_loop
// CHECK: ^bb1:
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: cf.br ^bb1{{$}}
func.func @infinite_loop(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^loop(%a : !t)
^loop(%x: !t):
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %x
  cf.br ^loop(%b : !t)
}

// The regions of an unknown operation may run in any order, any number of times. Its block arguments are foreign.
// CHECK-LABEL: func.func @unknown_regions
// CHECK: "test.op"() ({
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK: }, {
// CHECK-NEXT: ^bb0(%[[X:.+]]: !async.token):
// CHECK-NEXT: async.await %[[X]]
// CHECK: }) : () -> ()
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @unknown_regions(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  "test.op"() ({
    async.await %a
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    "test.end"() : () -> ()
  }, {
  ^bb0(%x: !t):
    async.await %x
    "test.end"() : () -> ()
  }) : () -> ()
  async.await %a
  return
}

// An unknown terminator may lead to any of its successors, with anything.
// CHECK-LABEL: func.func @unknown_terminator
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK: "test.br"(%{{.+}})[^bb1, ^bb2] : (!async.token) -> ()
// CHECK-NEXT: ^bb1(%[[X:.+]]: !async.token):
// CHECK-NEXT: async.await %[[X]]
func.func @unknown_terminator(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  "test.br"(%a)[^one, ^two] : (!t) -> ()
^one(%x: !t):
  async.await %x
  return
^two:
  return
}

// The token of the block before is in flight where an unknown terminator leads, and so is that of its own regions.
// CHECK-LABEL: func.func @unknown_terminator_with_regions
// CHECK: "test.br"()[^bb1, ^bb2] : () -> ()
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: "test.br"()[^bb2] ({
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK: }) : () -> ()
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @unknown_terminator_with_regions(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  "test.br"()[^one, ^two] : () -> ()
^one:
  async.await %a
  "test.br"()[^two] ({
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %b
    "test.end"() : () -> ()
  }) : () -> ()
^two:
  async.await %a
  return
}

// The regions of a known terminator count as well.
// CHECK-LABEL: func.func @reduction
// CHECK: scf.reduce
// BALANCED: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.copy
// PLAIN: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: scf.reduce.return
// BALANCED: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @reduction(%src: !src, %dst: !dst, %i: index, %n: index, %v: f32) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.parallel (%k) = (%i) to (%n) step (%i) init(%v) -> f32 {
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %b = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
      async.await %a
      scf.reduce.return %x : f32
    }
  }
  async.await %a
  return
}

// Tokens in a circle, where order does not matter.
// CHECK-LABEL: func.func @graph_region
// CHECK: "test.graph"() ({
// CHECK-NEXT: %[[X:.+]] = async.join %[[Y:.+]], %{{.+}}
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[Y]] = "test.b"(%[[X]])
// CHECK-NEXT: async.await %[[X]]
func.func @graph_region(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  "test.graph"() ({
    %x = async.join %y, %a
    %y = "test.b"(%x) : (!t) -> !t
    async.await %x
  }) : () -> ()
  return
}

// Device code inside of host code: the whole is translated.
// CHECK-LABEL: func.func @launch
// CHECK: gpu.launch
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpu.terminator
func.func @launch(%src: !src, %dst: !dst, %i: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %i, %gy = %i, %gz = %i)
             threads(%tx, %ty, %tz) in (%sx = %i, %sy = %i, %sz = %i) {
    %a = gpux.copy async %src[%tx], %dst[%tx], 4 : !src to !dst
    async.await %a
    gpu.terminator
  }
  return
}

// CHECK-LABEL: async.func @async_function
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: async.yield %{{.+}}, %[[R]] : index, !async.token
async.func @async_function(%src: !src, %dst: !dst, %i: index) -> (index, !t) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a
  async.yield %i, %b : index, !t
}

// CHECK-LABEL: func.func @duplicates
// CHECK: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @duplicates(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %j = async.join %a, %a
  %k = async.join %j, %a, %j
  async.await %k, %k, %a
  return
}

// Casts and containers are operations like any other: what comes out is foreign.
// CHECK-LABEL: func.func @cast
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: %[[X:.+]] = builtin.unrealized_conversion_cast %[[R]]
// CHECK-NEXT: %[[Y:.+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: async.await %[[Y]]
func.func @cast(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %x = builtin.unrealized_conversion_cast %a : !t to i64
  %y = builtin.unrealized_conversion_cast %x : i64 to !t
  async.await %y
  return
}

// A step of zero makes no loop that can be counted.
// CHECK-LABEL: func.func @step_of_zero
// CHECK: scf.for
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @step_of_zero(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c9 step %c0 {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %a
  return
}
