// A token as what upstream's lowering makes of it, a stream: what takes it comes after all that was put there before.

// RUN: async-opt %s --async-import-gpu="gpu-tokens=stream" --canonicalize --split-input-file | FileCheck %s
// RUN: async-opt %s --async-import-gpu --canonicalize --split-input-file | FileCheck %s --check-prefix=SSA

!d = memref<8xf32, 1>

// Both copies after the first are in the same stream, one after the other.
// CHECK-LABEL: func.func @fork
// CHECK: %[[X:.+]] = gpux.transfer async %
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: %[[Z:.+]] = gpux.transfer async [%[[Y]]]
// CHECK: async.await %[[Z]]{{$}}
// SSA-LABEL: func.func @fork
// SSA: %[[X:.+]] = gpux.transfer async %
// SSA: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// SSA: %[[Z:.+]] = gpux.transfer async [%[[X]]]
// SSA: async.await %[[Y]], %[[Z]]
func.func @fork(%a: !d, %b: !d) {
  %w = gpu.wait async
  %x = gpu.memcpy async [%w] %a, %b : !d, !d
  %y = gpu.memcpy async [%x] %a, %b : !d, !d
  %z = gpu.memcpy async [%x] %a, %b : !d, !d
  gpu.wait [%y, %z]
  return
}

// -----

!d = memref<8xf32, 1>

// A token that is used again stands for all that came to its stream. Another stream is not ordered.
// CHECK-LABEL: func.func @two_streams
// CHECK: %[[X:.+]] = gpux.transfer async %
// CHECK: %[[P:.+]] = gpux.transfer async %
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: %[[Q:.+]] = gpux.transfer async [%[[P]]]
// CHECK: %[[V:.+]] = gpux.transfer async [%[[Y]], %[[Q]]]
// CHECK: async.await %[[V]], %[[Y]]
func.func @two_streams(%a: !d, %b: !d) {
  %s = gpu.wait async
  %t = gpu.wait async
  %x = gpu.memcpy async [%s] %a, %b : !d, !d
  %p = gpu.memcpy async [%t] %a, %b : !d, !d
  %y = gpu.memcpy async [%s] %a, %b : !d, !d
  %q = gpu.memcpy async [%t] %a, %b : !d, !d
  // A new stream, after what is in both, whichever tokens it names.
  %j = gpu.wait async [%s, %p]
  %v = gpu.memcpy async [%j] %a, %b : !d, !d
  gpu.wait [%j, %x]
  return
}

// -----

!d = memref<8xf32, 1>

// A stream from before the loop: each iteration's stream comes after it, not after that of the one before.
// CHECK-LABEL: func.func @outer
// CHECK: %[[X:.+]] = gpux.transfer async %
// CHECK: scf.for {{.*}} {
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: async.await %[[Y]]
func.func @outer(%a: !d, %b: !d, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = gpu.wait async
  %x = gpu.memcpy async [%w] %a, %b : !d, !d
  scf.for %i = %c0 to %n step %c1 {
    %v = gpu.wait async [%x]
    %y = gpu.memcpy async [%v] %a, %b : !d, !d
    gpu.wait [%y]
  }
  return
}

// -----

!d = memref<8xf32, 1>

// In a loop, the stream goes on; a loop carries its last operation, also where the program does not.
// CHECK-LABEL: func.func @in_loop
// CHECK: %[[R:.+]] = async.ready
// CHECK: %[[L:.+]] = scf.for {{.*}} iter_args(%[[T:.+]] = %[[R]]) -> (!async.token) {
// CHECK: %[[X:.+]] = gpux.transfer async [%[[T]]]
// CHECK: scf.yield %[[X]]
// CHECK: async.await %[[L]]
// SSA-LABEL: func.func @in_loop
// SSA: gpux.transfer async %
// SSA-NOT: async.await
func.func @in_loop(%a: !d, %b: !d, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = gpu.wait async
  scf.for %i = %c0 to %n step %c1 {
    %x = gpu.memcpy async [%w] %a, %b : !d, !d
  }
  gpu.wait [%w]
  return
}

// -----

!d = memref<8xf32, 1>

// Control flow carries streams.
// CHECK-LABEL: func.func @carried
// SSA-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[T:[a-z0-9_]+]] = %{{[a-z0-9_]+}}) -> ({{.*}}!async.token) {
// CHECK: %[[X:.+]] = gpux.transfer async [%[[T]]]
// CHECK: %[[I:.+]] = scf.if
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: scf.yield {{.*}}%[[Y]]
// CHECK: } else {
// CHECK: scf.yield {{.*}}%[[X]]
func.func @carried(%a: !d, %b: !d, %n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = gpu.wait async
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%t = %w) -> (!gpu.async.token) {
    %x = gpu.memcpy async [%t] %a, %b : !d, !d
    %r = scf.if %c -> (!gpu.async.token) {
      // The stream as it was before the loop.
      %y = gpu.memcpy async [%w] %a, %b : !d, !d
      scf.yield %y : !gpu.async.token
    } else {
      scf.yield %x : !gpu.async.token
    }
    scf.yield %r : !gpu.async.token
  }
  gpu.wait [%l]
  return
}

// -----

!d = memref<8xf32, 1>

// A stream of the last iteration, and one of this: what is put into either comes after both.
// CHECK-LABEL: func.func @two_generations
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[T:[a-z0-9_]+]] = %{{[a-z0-9_]+}}) -> ({{.*}}!async.token) {
// CHECK: %[[X:.+]] = gpux.transfer async [%[[T]]
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: scf.yield {{.*}}%[[Y]]
func.func @two_generations(%a: !d, %b: !d, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = gpu.wait async
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%t = %w) -> (!gpu.async.token) {
    %s = gpu.wait async
    %x = gpu.memcpy async [%t] %a, %b : !d, !d
    %y = gpu.memcpy async [%s] %a, %b : !d, !d
    scf.yield %s : !gpu.async.token
  }
  gpu.wait [%l]
  return
}

// -----

!d = memref<8xf32, 1>

// Through blocks.
// CHECK-LABEL: func.func @blocks
// CHECK: ^bb1(%[[T:.+]]: !async.token):
// CHECK: %[[X:.+]] = gpux.transfer async [%[[T]]]
// CHECK: cf.cond_br %{{[a-z0-9]+}}, ^bb1(%[[X]] : !async.token), ^bb2(%[[X]] : !async.token)
// CHECK: ^bb2(%[[E:.+]]: !async.token):
// CHECK: async.await %[[E]]
func.func @blocks(%a: !d, %b: !d, %c: i1) {
  %w = gpu.wait async
  cf.br ^loop
^loop:
  %x = gpu.memcpy async [%w] %a, %b : !d, !d
  cf.cond_br %c, ^loop, ^end
^end:
  gpu.wait [%w]
  return
}

// -----

!d = memref<8xf32, 1>

// A synchronous operation puts nothing there, and waits for what is.
// CHECK-LABEL: func.func @synchronous
// CHECK: %[[X:.+]] = gpux.transfer async %
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: async.await %[[Y]]
func.func @synchronous(%a: !d, %b: !d) {
  %w = gpu.wait async
  %x = gpu.memcpy async [%w] %a, %b : !d, !d
  gpu.memcpy [%w] %a, %b : !d, !d
  return
}

// -----

!d = memref<8xf32, 1>

// Which stream is selected is not known: what is put there comes after both.
// CHECK-LABEL: func.func @selected
// CHECK: %[[X:.+]] = gpux.transfer async %
// CHECK: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// CHECK: async.await %[[Y]]
func.func @selected(%a: !d, %b: !d, %c: i1) {
  %s = gpu.wait async
  %x = gpu.memcpy async [%s] %a, %b : !d, !d
  %t = gpu.wait async
  %m = arith.select %c, %s, %t : !gpu.async.token
  %y = gpu.memcpy async [%m] %a, %b : !d, !d
  gpu.wait [%m]
  return
}

// -----

!d = memref<8xf32, 1>

// A loop may carry several streams: it is made anew for each.
// CHECK-LABEL: func.func @two_in_a_loop
// CHECK: %[[R:.+]]:2 = scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}}, %[[Y:.+]] = %{{.+}})
// CHECK: %[[X1:.+]] = gpux.transfer async [%[[X]]]
// CHECK: %[[Y1:.+]] = gpux.transfer async [%[[Y]]]
// CHECK: scf.yield %[[X1]], %[[Y1]]
// CHECK: async.await %[[R]]#0
// CHECK: async.await %[[R]]#1
func.func @two_in_a_loop(%a: !d, %b: !d, %lo: index, %hi: index, %step: index) {
  %s = gpu.wait async
  %t = gpu.wait async
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%x = %s, %y = %t) -> (!gpu.async.token, !gpu.async.token) {
    %x1 = gpu.memcpy async [%x] %a, %b : !d, !d
    %y1 = gpu.memcpy async [%y] %a, %b : !d, !d
    scf.yield %x1, %y1 : !gpu.async.token, !gpu.async.token
  }
  gpu.wait [%r#0]
  gpu.wait [%r#1]
  return
}

// -----

!d = memref<8xf32, 1>

// So may branches in loops.
// CHECK-LABEL: func.func @two_in_a_branch
// CHECK: scf.for
// CHECK: scf.if
// CHECK: gpux.transfer async
// CHECK: gpux.transfer async
// CHECK: async.await
func.func @two_in_a_branch(%a: !d, %b: !d, %lo: index, %hi: index, %step: index, %c: i1) {
  %s = gpu.wait async
  %t = gpu.wait async
  scf.for %i = %lo to %hi step %step {
    scf.if %c {
      %x = gpu.memcpy async [%s] %a, %b : !d, !d
      %y = gpu.memcpy async [%t] %a, %b : !d, !d
    }
  }
  gpu.wait [%s]
  gpu.wait [%t]
  return
}
