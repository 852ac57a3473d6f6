// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Of an index that is not known, it is known that it is in bounds: which slot it is in, the other indices say.

!slots = memref<3x64xf32, #gpu.address_space<workgroup>>
!bytes = memref<1024xi8, #gpu.address_space<workgroup>>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!strided = memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @gather
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @gather(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %j] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // Four elements of a row are in the row.
  //
  // CHECK-LABEL: gpu.func @gather_of_vectors
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: vector.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @gather_of_vectors(%a: memref<64xindex>, %x: f32, %out: memref<64xvector<4xf32>>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : !slots
      %v = vector.load %s[%slot, %j] : !slots, vector<4xf32>
      memref.store %v, %out[%t] : memref<64xvector<4xf32>>
    }
    gpu.return
  }

  // A vector that spans two slots meets what is written an iteration later, wherever in the rows it is.
  //
  // CHECK-LABEL: gpu.func @two_slots_at_a_time
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: vector.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @two_slots_at_a_time(%a: memref<64xindex>, %x: f32, %out: memref<64xvector<2x4xf32>>, %n: index)
      workgroup(%s: memref<4x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : memref<4x64xf32, #gpu.address_space<workgroup>>
      %v = vector.load %s[%slot, %j] : memref<4x64xf32, #gpu.address_space<workgroup>>, vector<2x4xf32>
      memref.store %v, %out[%t] : memref<64xvector<2x4xf32>>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @butterfly
  // CHECK: memref.store
  // CHECK-NEXT: arith.xori
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @butterfly(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      %distance = arith.shli %c1, %i : index
      memref.store %x, %s[%slot, %t] : !slots
      %other = arith.xori %t, %distance : index
      %v = memref.load %s[%slot, %other] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // What is read is in one slot, and what is written in the other.
  //
  // CHECK-LABEL: gpu.func @scan
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @scan(%x: f32, %n: index) workgroup(%s: memref<2x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    memref.store %x, %s[%c0, %t] : memref<2x64xf32, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %n step %c1 {
      %from = arith.andi %i, %c1 : index
      %to = arith.xori %from, %c1 : index
      %distance = arith.shli %c1, %i : index
      %has_other = arith.cmpi uge, %t, %distance : index
      %own = memref.load %s[%from, %t] : memref<2x64xf32, #gpu.address_space<workgroup>>
      %sum = scf.if %has_other -> f32 {
        %at = arith.subi %t, %distance : index
        %other = memref.load %s[%from, %at] : memref<2x64xf32, #gpu.address_space<workgroup>>
        %both = arith.addf %own, %other : f32
        scf.yield %both : f32
      } else {
        scf.yield %own : f32
      }
      memref.store %sum, %s[%to, %t] : memref<2x64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // A loop that ends somewhere reads no further than the row.
  //
  // CHECK-LABEL: gpu.func @unknown_end
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @unknown_end(%x: f32, %out: memref<64xf32>, %n: index, %m: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : !slots
      scf.for %k = %c0 to %m step %c1 {
        %v = memref.load %s[%slot, %k] : !slots
        memref.store %v, %out[%t] : memref<64xf32>
      }
    }
    gpu.return
  }

  // The row lies before the other one, of whatever length the loop is.
  //
  // CHECK-LABEL: gpu.func @views_of_one_buffer
  // CHECK-NOT: gpu.barrier
  // CHECK-LABEL: gpu.func @overlapping_views
  // CHECK: gpu.barrier
  gpu.func @views_of_one_buffer(%x: f32, %out: memref<64xf32>, %m: index) workgroup(%s: !bytes) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %t = gpu.thread_id x
    %first = memref.view %s[%c0][] : !bytes to !row
    %second = memref.view %s[%c256][] : !bytes to !row
    memref.store %x, %second[%t] : !row
    scf.for %k = %c0 to %m step %c1 {
      %v = memref.load %first[%k] : !row
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }
  gpu.func @overlapping_views(%x: f32, %out: memref<64xf32>, %m: index) workgroup(%s: !bytes) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c252 = arith.constant 252 : index
    %t = gpu.thread_id x
    %first = memref.view %s[%c0][] : !bytes to !row
    %second = memref.view %s[%c252][] : !bytes to !row
    memref.store %x, %second[%t] : !row
    scf.for %k = %c0 to %m step %c1 {
      %v = memref.load %first[%k] : !row
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // A part of a slot that begins somewhere in it.
  //
  // CHECK-LABEL: gpu.func @parts
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @parts(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : !slots
      %part = memref.subview %s[%slot, %j] [1, 16] [1, 1] : !slots to !strided
      %v = memref.load %part[%c15] : !strided
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // The same memory with longer rows: two slots of the one are in one row of the other.
  //
  // CHECK-LABEL: gpu.func @other_shape
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @other_shape(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !bytes) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    %slots = memref.view %s[%c0][] : !bytes to memref<4x64xf32, #gpu.address_space<workgroup>>
    %rows = memref.view %s[%c0][] : !bytes to memref<2x128xf32, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c2 : index
      memref.store %x, %slots[%slot, %t] : memref<4x64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %rows[%c0, %j] : memref<2x128xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // The range of the part that is not known is no larger than a slot.
  //
  // CHECK-LABEL: gpu.func @linearized_with_a_range
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @linearized_with_a_range(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index)
      workgroup(%s: memref<192xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %c63 = arith.constant 63 : index
    %read = memref.load %a[%t] : memref<64xindex>
    %j = arith.andi %read, %c63 : index
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      %first = arith.muli %slot, %c64 : index
      %to = arith.addi %first, %t : index
      memref.store %x, %s[%to] : memref<192xf32, #gpu.address_space<workgroup>>
      %from = arith.addi %first, %j : index
      %v = memref.load %s[%from] : memref<192xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // It may be in the next slot.
  //
  // CHECK-LABEL: gpu.func @linearized_with_a_large_range
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @linearized_with_a_large_range(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index)
      workgroup(%s: memref<192xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %c65 = arith.constant 65 : index
    %read = memref.load %a[%t] : memref<64xindex>
    %j = arith.remui %read, %c65 : index
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      %first = arith.muli %slot, %c64 : index
      %to = arith.addi %first, %t : index
      memref.store %x, %s[%to] : memref<192xf32, #gpu.address_space<workgroup>>
      %from = arith.addi %first, %j : index
      %v = memref.load %s[%from] : memref<192xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // One index alone says nothing of slots.
  //
  // CHECK-LABEL: gpu.func @linearized
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @linearized(%a: memref<64xindex>, %x: f32, %out: memref<64xf32>, %n: index)
      workgroup(%s: memref<192xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %j = memref.load %a[%t] : memref<64xindex>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c3 : index
      %first = arith.muli %slot, %c64 : index
      %to = arith.addi %first, %t : index
      memref.store %x, %s[%to] : memref<192xf32, #gpu.address_space<workgroup>>
      %from = arith.addi %first, %j : index
      %v = memref.load %s[%from] : memref<192xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }
}
