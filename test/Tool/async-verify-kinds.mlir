// Certificates of several kinds, of kinds that there are none of, and functions that get none: whatever is wrong, one error that says where,
// and exit code 1.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers=certificates=%t.mbarriers -o %t.kernel 2>&1 | FileCheck %s --check-prefix=OWN
// OWN:      remark: gets no certificate: it has mbarriers of its own, which are not looked at
// OWN-NEXT: gpu.func @own
// OWN:      note: these

// A function without a certificate, since it can't have one.
// RUN: not async-verify %t.kernel %t.mbarriers 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING:     @kernels::@load: verified
// MISSING:     error: 'nvgpu.mbarrier.create' op makes mbarriers, but there is no certificate of @kernels::@own
// MISSING-NOT: error:

// Another pass, a pass that writes none, a word instead of a number, a set with a slot twice, and no proof of a ring, or one too many.
// RUN: sed 's/gpux-tokens-to-mbarriers/gpux-tokens-to-groups/' %t.mbarriers > %t.groups
// RUN: not async-verify %t.kernel %t.groups 2>&1 | FileCheck %s --check-prefix=GROUPS
// GROUPS:     {{.*}}.groups:1:{{[0-9]+}}: error: no certificate: unknown field `rings`
// GROUPS-NOT: error:
// RUN: sed 's/gpux-tokens-to-mbarriers/canonicalize/' %t.mbarriers > %t.pass
// RUN: not async-verify %t.kernel %t.pass 2>&1 | FileCheck %s --check-prefix=PASS
// PASS:     {{.*}}.pass:1:{{[0-9]+}}: error: no certificate: there are none of the pass 'canonicalize'
// PASS-NOT: error:
// RUN: sed 's/"parity":false/"parity":0/' %t.mbarriers > %t.word
// RUN: not async-verify %t.kernel %t.word 2>&1 | FileCheck %s --check-prefix=WORD
// WORD:     {{.*}}.word:1:{{[0-9]+}}: error: no certificate: invalid type: integer `0`, expected a boolean
// WORD-NOT: error:
// RUN: sed 's/"proofs":\[.*\],"ir"/"proofs":[],"ir"/' %t.mbarriers > %t.none
// RUN: not async-verify %t.kernel %t.none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE:     error: the certificate of @kernels::@load, {{.*}}.none:2, does not hold: a ring has no proof
// NONE-NOT: error:
// RUN: sed 's/"proofs":\[\(.*\)\],"ir"/"proofs":[\1,\1],"ir"/' %t.mbarriers > %t.twice
// RUN: not async-verify %t.kernel %t.twice 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE:     error: the certificate of @kernels::@load, {{.*}}.twice:2, is not that of its 'ir': it has more proofs than there are rings
// TWICE-NOT: error:
// RUN: sed 's/"iterations":"some"/"iterations":"all"/' %t.mbarriers > %t.all
// RUN: not async-verify %t.kernel %t.all 2>&1 | FileCheck %s --check-prefix=ALL
// ALL:     error: the certificate of @kernels::@load, {{.*}}.all:2, is not that of its 'ir': it tells more iterations apart than make a difference
// ALL-NOT: error:

// Numbers that no node and no mbarrier has, and a node of which there is no block.
// RUN: sed 's/"successors":\[null\]/"successors":[4294967295]/' %t.mbarriers > %t.successor
// RUN: not async-verify %t.kernel %t.successor 2>&1 | FileCheck %s --check-prefix=SUCCESSOR
// SUCCESSOR:     error: the certificate of @kernels::@load, {{.*}} does not hold: of ring 0, node 0 does not lead where its block does
// SUCCESSOR-NOT: error:
// RUN: sed 's/"count":0,"pending":0,"debt":0/"count":9223372036854775807,"pending":-9223372036854775808,"debt":9223372036854775807/' %t.mbarriers > %t.count
// RUN: not async-verify %t.kernel %t.count 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY:     error: the certificate of @kernels::@load, {{.*}} does not hold: of ring 0, node 0 is not what is known where the function begins
// ENTRY-NOT: error:
// RUN: sed 's/"block":0/"block":4294967295/' %t.mbarriers > %t.block
// RUN: not async-verify %t.kernel %t.block 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: sed 's/"nodes":\[.*\]}\],"ir"/"nodes":[]}],"ir"/' %t.mbarriers > %t.nodes
// RUN: not async-verify %t.kernel %t.nodes 2>&1 | FileCheck %s --check-prefix=ENTRY

// After both passes, each has written certificates: of the same function, of its own kind. What the first one wrote is there no more.
// RUN: async-opt %s "--gpux-tokens-to-mbarriers=certificates=%t.both" "--gpux-tokens-to-groups=certificates=%t.both" -o %t.both-kernel
// RUN: not async-verify %t.both-kernel %t.both 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH:     @kernels::@copy: verified
// BOTH:     error: 'gpux.commit_group' op is in the place of 'gpu.return'
// BOTH:     note: @kernels::@copy is not the function of the certificate
// BOTH-NOT: error:

// What certificates don't speak of is said.
// RUN: sed '/@own(/,/^    }/d' %t.kernel > %t.rest
// RUN: async-verify %t.rest %t.mbarriers 2>&1 | FileCheck %s --check-prefix=QUEUE
// QUEUE: warning: 'gpux.copy' op belongs to a queue, but no certificate of @kernels::@copy is about groups
// QUEUE: @kernels::@copy: verified

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @load(%x: !line) workgroup(%a: !row) kernel {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  gpu.func @copy(%x: !line, %i: index) workgroup(%a: !row, %b: !row) kernel {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %u = gpux.copy async %x[%i], %b[%i], 4 : !line to !row
    async.await %u
    gpu.return
  }

  gpu.func @own(%x: !line) workgroup(%a: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %own = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %own[%c0], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }
}
