// A load that names the warp that issues it is over where a role awaits it; what a role begins, where the same warps await it. The
// buffers may share bytes then.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory --split-input-file 2>&1 | FileCheck %s

!Row = memref<64xf32>
!Slot = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK: remark: packs 3 buffers of 768 bytes into 256 bytes
gpu.module @shared {
  gpu.func @kernel(%x: !Row, %out: !Row, %v: f32) workgroup(%a: !Slot, %b: !Slot, %c: !Slot) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    %t = gpux.bulk_load async %x, %a {issuer = 2 : i32} : !Row to !Slot
    scf.if %first {
      async.await %t
      %w = memref.load %a[%at] : !Slot
      memref.store %w, %out[%at] : !Row
    }
    %u = scf.if %first -> (!async.token) {
      %copy = gpux.copy async %x[%at], %b[%at], 1 : !Row to !Slot
      scf.yield %copy : !async.token
    } else {
      %ready = async.ready
      scf.yield %ready : !async.token
    }
    scf.if %first {
      %both = async.join %t, %u
      async.await %both
      %w = memref.load %b[%at] : !Slot
      memref.store %w, %out[%at] : !Row
    }
    memref.store %v, %c[%at] : !Slot
    %w = memref.load %c[%at] : !Slot
    memref.store %w, %out[%at] : !Row
    gpu.return
  }
}

// -----

!Row = memref<64xf32>
!Slot = memref<64xf32, #gpu.address_space<workgroup>>

// Some of the warps that copy don't await that: it may be in flight for ever.
//
// CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
gpu.module @in_flight {
  gpu.func @kernel(%x: !Row, %out: !Row, %v: f32) workgroup(%b: !Slot, %c: !Slot) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %thread = gpu.thread_id x
    %at = arith.andi %thread, %c63 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    %less = arith.cmpi ult, %warp, %c1 : index
    %u = scf.if %first -> (!async.token) {
      %copy = gpux.copy async %x[%at], %b[%at], 1 : !Row to !Slot
      scf.yield %copy : !async.token
    } else {
      %ready = async.ready
      scf.yield %ready : !async.token
    }
    scf.if %less {
      async.await %u
      %w = memref.load %b[%at] : !Slot
      memref.store %w, %out[%at] : !Row
    }
    memref.store %v, %c[%at] : !Slot
    %w = memref.load %c[%at] : !Slot
    memref.store %w, %out[%at] : !Row
    gpu.return
  }
}
