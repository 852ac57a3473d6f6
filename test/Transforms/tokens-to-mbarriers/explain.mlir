// RUN: async-opt %s --gpux-tokens-to-mbarriers=explain=true --split-input-file --verify-diagnostics

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

// A remark at the first load of each ring says how many mbarriers it has, and notes say what is on them; a remark at each await
// says what it waits for, with a note at each load that it may be.
gpu.module @single {
  gpu.func @single(%x: !line) workgroup(%a: !row) kernel {
    // expected-remark @below {{ring 0: one mbarrier; the numbers of its phases are known}}
    // expected-note @below {{carries the token of this load: phase 0, 256 bytes}}
    // expected-note @below {{that of this load}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    // expected-remark @below {{waits for phase 0 of ring 0}}
    async.await %t
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @together {
  gpu.func @together(%x: !line) workgroup(%a: !row, %b: !row) kernel {
    // expected-remark @below {{ring 0: one mbarrier; the numbers of its phases are known}}
    // expected-note @below {{carries the tokens of this load and of 1 more that are awaited with it: phase 0, 512 bytes}}
    // expected-note @below {{that of this load}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %x, %b : !line to !row
    // expected-remark @below {{waits for phase 0 of ring 0}}
    async.await %t, %u
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

// The first phase is number 0; that of an iteration is one more than its number.
gpu.module @ring {
  gpu.func @ring(%x: !line, %n: index) workgroup(%a: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{the numbers of its phases are known}}
    // expected-note @below {{carries the token of this load: phase 0, 256 bytes}}
    // expected-note @below {{that of this load}}
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) {
      // expected-remark @below {{waits for phase i (i: iteration of the loop in line 52) of ring 0}}
      async.await %t
      // expected-note @below {{carries the token of this load: phase i + 1 (i: iteration of the loop in line 52), 256 bytes}}
      // expected-note @below {{that of this load}}
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    }
    // expected-remark @below {{waits for phase n (n: trips of the loop in line 52) of ring 0}}
    async.await %last
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

// Where a loop's number says nothing, it is counted; where the bytes depend on the way, each load says its own.
gpu.module @carried {
  gpu.func @carried(%x: !line, %p: i1, %n: index) workgroup(%a: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = async.ready
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %none) -> (!async.token) {
      // expected-remark @below {{waits for the phase that is handed on here, of ring 0}}
      async.await %t
      %u = scf.if %p -> (!async.token) {
        // expected-remark @below {{ring 0: one mbarrier; its phases are counted while the program runs}}
        // expected-note @below {{carries the token of this load: the next phase, as many bytes as it loads}}
        // expected-note @below {{that of this load}}
        %v = gpux.bulk_load async %x, %a : !line to !row
        scf.yield %v : !async.token
      } else {
        scf.yield %none : !async.token
      }
      scf.yield %u : !async.token
    }
    // expected-remark @below {{waits for the phase that is handed on here, of ring 0}}
    async.await %last
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @never_awaited {
  gpu.func @never_awaited(%x: !line) workgroup(%a: !row) kernel {
    // expected-remark @below {{ring 0: one mbarrier; the numbers of its phases are known; not every phase is awaited on every way, so the last phase of a slot is waited for before the slot is armed again}}
    // expected-note @below {{carries the token of this load: phase 0, 256 bytes}}
    %t = gpux.bulk_load async %x, %a : !line to !row
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!two = memref<2x64xf32, #gpu.address_space<workgroup>>
!row = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// Of several mbarriers, it is the one whose number is the phase's modulo how many there are.
gpu.module @two {
  gpu.func @two(%x: !line, %n: index) workgroup(%a: !two) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %to0 = memref.subview %a[%c0, 0] [1, 64] [1, 1] : !two to !row
    // expected-remark @below {{ring 0: 2 mbarriers, since so many phases may be live together, each up to a block barrier after its last wait; the numbers of its phases are known}}
    // expected-note @below {{phase 0, on mbarrier 0, 256 bytes}}
    // expected-note @below {{that of this load}}
    %t0 = gpux.bulk_load async %x, %to0 : !line to !row
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) {
      %next = arith.addi %i, %c1 : index
      %slot = arith.remui %next, %c2 : index
      %to = memref.subview %a[%slot, 0] [1, 64] [1, 1] : !two to !row
      // expected-note @below {{phase i + 1 (i: iteration of the loop in line 128), on mbarrier (i + 1) mod 2, 256 bytes}}
      // expected-note @below {{that of this load}}
      %u = gpux.bulk_load async %x, %to : !line to !row
      // expected-remark @below {{waits for phase i (i: iteration of the loop in line 128), on mbarrier i mod 2 of ring 0}}
      async.await %t
      %v = memref.load %a[%c0, %c0] : !two
      gpu.printf "%f", %v : f32
      scf.yield %u : !async.token
    }
    // expected-remark @below {{waits for phase n (n: trips of the loop in line 128), on mbarrier n mod 2 of ring 0}}
    async.await %last
    gpu.return
  }
}
