// What --gpux-tokens-to-groups has written is checked anew, in another process, by the certificates that came with it.
//
// RUN: async-opt %s --gpux-tokens-to-groups=certificates=%t.certificates -o %t.kernel
// RUN: async-verify %t.kernel %t.certificates | FileCheck %s --check-prefix=VERIFIED
//
// VERIFIED:      @rotated: verified (1 awaits, 3 nodes)
// VERIFIED-NEXT: @turns: verified (2 awaits, 4 nodes)
// VERIFIED-NEXT: @stored: verified (1 awaits, 1 nodes)
// VERIFIED-NEXT: @kernels::@inside: verified (1 awaits, 1 nodes)
// VERIFIED-NOT:  verified

// The file has a line for each function with operations of a queue, in the order of their names, however many threads the pass ran on.
// RUN: FileCheck %s --check-prefix=LINES --input-file=%t.certificates
// LINES:      {"version":1,"pass":"gpux-tokens-to-groups","function":"@kernels::@inside",
// LINES-NEXT: "function":"@rotated"
// LINES-NEXT: "function":"@stored"
// LINES-NEXT: "function":"@turns"
// LINES-NOT:  "function"
// RUN: async-opt %s --mlir-disable-threading --gpux-tokens-to-groups=certificates=%t.again -o %t.other
// RUN: diff %t.certificates %t.again

// RUN: sed 's/"claims":\[{"token":2/"claims":[{"token":4294967294/' %t.certificates > %t.no-token
// RUN: not async-verify %t.kernel %t.no-token 2>&1 | FileCheck %s --check-prefix=NO-TOKEN
// NO-TOKEN: names other FIFOs, loops or tokens

// It is the same however the kernel is printed.
// RUN: async-opt %s --mlir-print-op-generic --mlir-print-debuginfo --mlir-print-unique-ssa-ids --gpux-tokens-to-groups=certificates=%t.generic -o %t.generic-kernel
// RUN: diff %t.certificates %t.generic
// RUN: async-verify %t.generic-kernel %t.generic | FileCheck %s --check-prefix=VERIFIED

// One wait other than in the certificate's function.
// RUN: sed 's/wait_group <cp_async>, 1/wait_group <cp_async>, 2/' %t.kernel > %t.wrong-wait
// RUN: not async-verify %t.wrong-wait %t.certificates 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT:     error: 'gpux.wait_group' op has another '
// WAIT:     note: @rotated is not the function of the certificate, {{.*}}.certificates:2
// WAIT-NOT: error:

// In both: then it does not hold.
// RUN: sed 's/wait_group <cp_async>, 1/wait_group <cp_async>, 2/g' %t.certificates > %t.wrong-both
// RUN: not async-verify %t.wrong-wait %t.wrong-both 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH:     error: the certificate of @rotated, {{.*}}.wrong-both:2, does not hold: node {{[0-9]+}}, instruction {{[0-9]+}}: an operation may be in flight
// BOTH-NOT: error:

// The certificate of another function.
// RUN: sed 's/@rotated/@other/g; s/@turns/@rotated/g; s/@other/@turns/g' %t.certificates > %t.swapped
// RUN: not async-verify %t.kernel %t.swapped 2>&1 | FileCheck %s --check-prefix=SWAPPED
// SWAPPED:     error: '{{.*}}' op is in the place of 'arith.constant'
// SWAPPED:     note: @rotated is not the function of the certificate
// SWAPPED-NOT: error:

// A commit is missing; another operand; another operation.
// RUN: sed '0,/commit_group/{/commit_group/d}' %t.kernel > %t.no-commit
// RUN: not async-verify %t.no-commit %t.certificates 2>&1 | FileCheck %s --check-prefix=COMMIT
// COMMIT:     error: 'scf.for' op is in the place of 'gpux.commit_group'
// COMMIT-NOT: error:
// RUN: sed 's/memref.load %arg1\[%arg3\]/memref.load %arg1[%c0]/' %t.kernel > %t.operand
// RUN: not async-verify %t.operand %t.certificates 2>&1 | FileCheck %s --check-prefix=OPERAND
// OPERAND:     error: 'memref.load' op has other operands
// OPERAND-NOT: error:

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// The token goes around with the loop.
func.func @rotated(%src: !global, %dst: !shared, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = gpux.copy async %src[%c0], %dst[%c0], 4 : !global to !shared
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%token = %first) -> !async.token {
    %next = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    async.await %token
    %x = memref.load %dst[%i] : !shared
    memref.store %x, %src[%i] : !global
    scf.yield %next : !async.token
  }
  return
}

// Even iterations and odd ones are nodes of their own: the last one is odd.
func.func @turns(%src: !global, %dst: !shared, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
  %b = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
  %older, %younger = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) {
    scf.yield %y, %x : !async.token, !async.token
  }
  async.await %older
  async.await %younger
  return
}

// One thread issues the store, which the certificate has for all of them.
func.func @stored(%src: !shared, %dst: !global) {
  %read, %written = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %written
  return
}

gpu.module @kernels {
  gpu.func @inside(%src: !global, %dst: !shared, %i: index) kernel {
    %token = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    async.await %token
    gpu.return
  }
}

// Nothing here belongs to a queue.
func.func @nothing(%x: index) -> index {
  return %x : index
}
