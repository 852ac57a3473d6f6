// What --gpux-tokens-to-mbarriers has written is checked anew, in another process, by the certificates that came with it: with a barrier of
// the block before a slot is used again, with an mbarrier, and where warps have roles.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers=certificates=%t.certificates -o %t.kernel
// RUN: async-verify %t.kernel %t.certificates | FileCheck %s --check-prefix=VERIFIED
//
// VERIFIED:      @kernels::@ring: verified (1 awaits, 11 nodes)
// VERIFIED-NEXT: @kernels::@chosen: verified (1 awaits, {{[0-9]+}} nodes)
// VERIFIED-NEXT: @kernels::@roles: verified (1 awaits, {{[0-9]+}} nodes)
// VERIFIED-NOT:  verified
//
// RUN: async-opt %s "--gpux-tokens-to-mbarriers=war=mbarrier certificates=%t.war" -o %t.war-kernel
// RUN: async-verify %t.war-kernel %t.war | FileCheck %s --check-prefix=WAR
//
// WAR:      @kernels::@ring: verified (1 awaits, {{[0-9]+}} nodes)
// WAR-NEXT: @kernels::@chosen: verified
// WAR-NEXT: @kernels::@roles: verified
// WAR-NOT:  verified

// A line for each function, in the order of their names, however many threads the pass ran on; two rings where threads gather.
// RUN: FileCheck %s --check-prefix=LINES --input-file=%t.certificates
// LINES:      {"version":1,"pass":"gpux-tokens-to-mbarriers","function":"@kernels::@chosen",
// LINES-NEXT: "function":"@kernels::@ring","rings":[{"ring":0,"value":"%0","mbarriers":2}],"proofs":[{"ring":0,"gathering":null,"iterations":"some",
// LINES-NEXT: "function":"@kernels::@roles"
// LINES-NOT:  "function"
// RUN: async-opt %s --mlir-disable-threading --gpux-tokens-to-mbarriers=certificates=%t.again -o %t.other
// RUN: diff %t.certificates %t.again
// RUN: FileCheck %s --check-prefix=GATHER --input-file=%t.war
// GATHER: "function":"@kernels::@ring","rings":[{"ring":0,"value":"%0","mbarriers":2},{"ring":1,"value":"%1","mbarriers":2}],"proofs":[{"ring":0,"gathering":1,

// One thing other than in the certificate's function: a slot, an operand, a wait that is missing, and a barrier.
// RUN: sed '/try_wait/s/\[%c0\]/[%c1]/' %t.kernel > %t.slot
// RUN: not async-verify %t.slot %t.certificates 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT:     error: 'nvgpu.mbarrier.try_wait.parity' op has other operands
// SLOT:     note: @kernels::@chosen is not the function of the certificate, {{.*}}.certificates:1
// SLOT-NOT: error:
// RUN: sed '/try_wait/d' %t.kernel > %t.no-wait
// RUN: not async-verify %t.no-wait %t.certificates 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT:     error: {{.*}} op {{is in the place of 'nvgpu.mbarrier.try_wait.parity'|lacks 'nvgpu.mbarrier.try_wait.parity'}}
// NO-WAIT-NOT: error:
// RUN: sed '0,/gpu.barrier/{/gpu.barrier/d}' %t.kernel > %t.no-barrier
// RUN: not async-verify %t.no-barrier %t.certificates 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER:     error: {{.*}} op is in the place of 'gpu.barrier'
// BARRIER-NOT: error:

// In both: then it does not hold.
// RUN: sed '/"@kernels::@ring"/s/gpu.barrier\\n/\\n/g' %t.certificates > %t.wrong-both
// RUN: sed '/gpu.barrier/d' %t.kernel > %t.no-barriers
// RUN: not async-verify %t.no-barriers %t.wrong-both 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH:     error: the certificate of @kernels::@ring, {{.*}}.wrong-both:2, does not hold: of ring 0, node {{[0-9]+}}
// BOTH-NOT: error:

// The kernel as it was before the pass.
// RUN: not async-verify %s %t.certificates 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS:     error: 'arith.constant' op has another 'value'
// TOKENS-NOT: error:

// The certificate of another function.
// RUN: sed 's/"@kernels::@ring"/"other"/; s/"@kernels::@chosen"/"@kernels::@ring"/; s/"other"/"@kernels::@chosen"/' %t.certificates > %t.swapped
// RUN: not async-verify %t.kernel %t.swapped 2>&1 | FileCheck %s --check-prefix=SWAPPED
// SWAPPED:     error: {{.*}}
// SWAPPED:     note: @kernels::@ring is not the function of the certificate
// SWAPPED-NOT: error:

// Other numbers: of a node, of a ring's mbarriers, of a loop.
// RUN: sed '/"@kernels::@ring"/s/"pending":1/"pending":2/' %t.certificates > %t.pending
// RUN: not async-verify %t.kernel %t.pending 2>&1 | FileCheck %s --check-prefix=PENDING
// PENDING:     error: the certificate of @kernels::@ring, {{.*}}.pending:2, does not hold: of ring 0, node {{[0-9]+}} does not say what arrives there
// PENDING-NOT: error:
// RUN: sed '/"@kernels::@ring"/s/"mbarriers":2/"mbarriers":3/' %t.certificates > %t.mbarriers
// RUN: not async-verify %t.kernel %t.mbarriers 2>&1 | FileCheck %s --check-prefix=RINGS
// RINGS:     error: the certificate of @kernels::@ring, {{.*}}.mbarriers:2, names other rings than its 'ir' has
// RINGS-NOT: error:

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!slot = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!slots = memref<2x64xf32, #gpu.address_space<workgroup>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The token goes around with the loop: phases take turns on two mbarriers.
  gpu.func @ring(%x: !global, %y: !global, %n: index) workgroup(%buf: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !slots to !slot
    %first = gpux.bulk_load async %from0, %to0 : !at to !slot
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%token = %first) -> (!async.token) {
      %next = arith.addi %i, %c1 : index
      %free = arith.remui %next, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !at
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !slots to !slot
      %new = gpux.bulk_load async %from, %to : !at to !slot
      async.await %token
      %row = arith.remui %i, %c2 : index
      %v = memref.load %buf[%row, %tid] : !slots
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %new : !async.token
    }
    gpu.return
  }

  // Which load is awaited depends on a condition; without it, nothing is.
  gpu.func @chosen(%x: !line, %is: i1) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %token = scf.if %is -> !async.token {
      %t = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %t : !async.token
    } else {
      %t = async.ready
      scf.yield %t : !async.token
    }
    async.await %token
    gpu.return
  }

  // Warp 3 issues, and warps 0 and 1 await.
  gpu.func @roles(%x: !line, %out: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %warp = gpu.subgroup_id : index
    %thread = gpu.thread_id x
    %first = arith.cmpi ult, %warp, %c2 : index
    %t = gpux.bulk_load async %x, %a {issuer = 3 : i32} : !line to !row
    scf.if %first {
      async.await %t
      %v = memref.load %a[%thread] : !row
      memref.store %v, %out[%thread] : !line
    }
    gpu.return
  }

  // There is no mbarrier here.
  gpu.func @nothing(%x: index) {
    gpu.return
  }
}
