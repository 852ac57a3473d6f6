// The mbarriers at which threads arrive are named, too.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers="explain=true war=mbarrier" --verify-diagnostics

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @behind_writes(%x: !line, %v: f32) workgroup(%a: !row) kernel {
    %tid = gpu.thread_id x
    memref.store %v, %a[%tid] : !row
    // expected-remark @below {{ring 0: one mbarrier; the numbers of its phases are known}}
    // expected-note @below {{carries the token of this load: phase 0, 256 bytes}}
    // expected-remark @below {{one mbarrier more, at which threads arrive before loads, in turn; the one that issues waits there}}
    // expected-note @below {{that of this load}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    // expected-remark @below {{waits for phase 0 of ring 0}}
    async.await %t
    gpu.return
  }
}
