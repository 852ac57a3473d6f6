// What stays synchronous, and why.
//
// RUN: async-opt %s --async-to-gpux --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-NOT: gpux.copy

!Line = memref<512xf32, #gpu.address_space<workgroup>>
!Half = memref<512xf16, #gpu.address_space<workgroup>>

gpu.module @widths {
  gpu.func @two_bytes(%in: memref<512xf16>) workgroup(%s: !Half) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf16>
    // expected-remark @+2 {{stays synchronous: it is of 2 bytes, but cp.async copies 4, 8 or 16}}
    // expected-note @+1 {{let each thread transfer adjacent elements as one vector: single ones are not merged here}}
    memref.store %v, %s[%t] : !Half
    gpu.return
  }
  gpu.func @six_bytes(%in: memref<512xf16>) workgroup(%s: !Half) kernel {
    %c0 = arith.constant 0 : index
    %v = vector.load %in[%c0] : memref<512xf16>, vector<3xf16>
    // expected-remark @+1 {{stays synchronous: it is of 6 bytes that can't be split into equal copies of 4, 8 or 16 adjacent ones}}
    vector.store %v, %s[%c0] : !Half, vector<3xf16>
    gpu.return
  }
  gpu.func @odd_elements(%in: memref<512xf16>) workgroup(%s: !Half) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %v = vector.load %in[%t] : memref<512xf16>, vector<8xf16>
    // expected-remark @+2 {{stays synchronous: it has a source that is only known to be aligned to 2 bytes, and cp.async needs 4}}
    // expected-note @+1 {{say what it is aligned to by memref.assume_alignment}}
    vector.store %v, %s[%c0] : !Half, vector<8xf16>
    gpu.return
  }
  gpu.func @rows_of_unknown_length(%in: memref<512xf16>, %i: index, %s: memref<?x?xf16, 3>) kernel {
    %c0 = arith.constant 0 : index
    %v = vector.load %in[%c0] : memref<512xf16>, vector<8xf16>
    // expected-remark @+2 {{stays synchronous: it has a destination that is only known to be aligned to 2 bytes, and cp.async needs 4}}
    // expected-note @+1 {{its strides are not static: say what a view of it is aligned to by memref.assume_alignment}}
    vector.store %v, %s[%i, %c0] : memref<?x?xf16, 3>, vector<8xf16>
    gpu.return
  }
  gpu.func @no_bytes(%in: memref<512xi1>) workgroup(%s: memref<512xi1, 3>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xi1>
    // expected-remark @+1 {{stays synchronous: it has elements that are no numbers of whole bytes}}
    memref.store %v, %s[%t] : memref<512xi1, 3>
    gpu.return
  }
  gpu.func @elements_are_vectors(%in: memref<16xvector<4xf32>>) workgroup(%s: memref<16xvector<4xf32>, 3>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<16xvector<4xf32>>
    // expected-remark @+2 {{stays synchronous: it accesses elements of type vector<4xf32> as f32, but a copy is of numbers}}
    // expected-note @+1 {{view the buffer as a memref of numbers}}
    memref.store %v, %s[%t] : memref<16xvector<4xf32>, 3>
    gpu.return
  }
  gpu.func @no_strides(%in: memref<16x16xf32, affine_map<(i, j) -> (i mod 2, i floordiv 2, j)>>)
      workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t, %t] : memref<16x16xf32, affine_map<(i, j) -> (i mod 2, i floordiv 2, j)>>
    // expected-remark @+1 {{stays synchronous: it has a source without strides}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
}

// -----

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @values {
  gpu.func @converted(%in: memref<512xf32>) workgroup(%s: memref<512xf16, 3>) kernel {
    %t = gpu.thread_id x
    // expected-note @+1 {{it is loaded here}}
    %v = memref.load %in[%t] : memref<512xf32>
    %h = arith.truncf %v : f32 to f16
    // expected-remark @+1 {{stays synchronous: it stores what 'arith.truncf' computes of what is loaded, but a copy does not change it}}
    memref.store %h, %s[%t] : memref<512xf16, 3>
    gpu.return
  }
  gpu.func @other_type(%in: memref<512xf32>) workgroup(%s: memref<512xi32, 3>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    %i = arith.bitcast %v : f32 to i32
    // expected-remark @+2 {{stays synchronous: it reads elements of type f32 and writes i32, but a copy does not convert}}
    // expected-note @+1 {{view one of the buffers as the type of the other}}
    memref.store %i, %s[%t] : memref<512xi32, 3>
    gpu.return
  }
  gpu.func @other_uses(%in: memref<512xf32>, %out: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    // expected-remark @+1 {{stays synchronous: it stores what is also used otherwise, so it has to be loaded anyway}}
    memref.store %v, %s[%t] : !Line
    // expected-note @+1 {{it is used here}}
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }
  gpu.func @transposed(%in: memref<16x16xf32>) workgroup(%s: memref<16x16xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%c0, %c0], %z {permutation_map = affine_map<(i, j) -> (j, i)>, in_bounds = [true, true]} : memref<16x16xf32>, vector<4x4xf32>
    // expected-remark @+1 {{stays synchronous: it permutes or repeats elements, but a copy keeps their order}}
    vector.transfer_write %v, %s[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<16x16xf32, 3>
    gpu.return
  }
}

// -----

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @fills {
  gpu.func @ones(%in: memref<?xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    // expected-note @+1 {{with this}}
    %one = arith.constant 1.0 : f32
    %v = vector.transfer_read %in[%c0], %one : memref<?xf32>, vector<4xf32>
    // expected-remark @+1 {{stays synchronous: it fills what it does not read with something else than zeros, but a copy writes zeros there}}
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @minus_zeros(%in: memref<?xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    // expected-note @+1 {{with this}}
    %zero = arith.constant -0.0 : f32
    %v = vector.transfer_read %in[%c0], %zero : memref<?xf32>, vector<4xf32>
    // expected-remark @+1 {{stays synchronous: it fills what it does not read with something else than zeros}}
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @any_mask(%in: memref<512xf32>, %m: vector<4xi1>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%c0], %z, %m {in_bounds = [true]} : memref<512xf32>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it has a mask that need not be a number of first elements, which is all that a copy can leave out}}
    // expected-note @+1 {{make the mask by vector.create_mask}}
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @other_numbers(%in: memref<512xf32>, %n: index, %other: vector<4xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %m = vector.create_mask %n : vector<4xi1>
    %v = vector.mask %m, %other { vector.transfer_read %in[%c0], %z {in_bounds = [true]} : memref<512xf32>, vector<4xf32> } : vector<4xi1> -> vector<4xf32>
    // expected-remark @+1 {{stays synchronous: it keeps other numbers where its mask is off, but a copy writes zeros there}}
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @masked_stores(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %m = vector.create_mask %n : vector<4xi1>
    %u = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it writes the elements of its mask alone, but a copy writes all, with zeros for those it does not read}}
    // expected-note @+1 {{mask the load instead of the store}}
    vector.maskedstore %s[%c0], %m, %u : !Line, vector<4xi1>, vector<4xf32>
    %v = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it writes the elements of its mask alone}}
    // expected-note @+1 {{mask the load instead of the store}}
    vector.mask %m { vector.transfer_write %v, %s[%c0] {in_bounds = [true]} : vector<4xf32>, !Line } : vector<4xi1>
    %w = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it writes the elements of its mask alone}}
    // expected-note @+1 {{mask the load instead of the store}}
    vector.transfer_write %w, %s[%c0], %m {in_bounds = [true]} : vector<4xf32>, !Line
    gpu.return
  }
  gpu.func @store_out_of_bounds(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = vector.load %in[%t] : memref<512xf32>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it may write out of bounds, where it writes nothing, but a copy writes all elements}}
    // expected-note @+1 {{say in_bounds where that is so}}
    vector.transfer_write %v, %s[%t] : vector<4xf32>, !Line
    gpu.return
  }
}

// -----

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @order {
  gpu.func @source_is_written(%in: memref<512xf32>, %x: f32) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    // expected-note @+1 {{here: move it out from between the load and the store}}
    memref.store %x, %in[%t] : memref<512xf32>
    // expected-remark @+1 {{stays synchronous: it may not read what is there any more: its source may be written in between}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
  gpu.func @source_is_written_in_a_loop(%in: memref<512xf32>, %out: memref<512xf32>, %n: index, %x: f32)
      workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    // expected-note @+1 {{here: move it out from between the load and the store}}
    scf.for %k = %c0 to %n step %c1 {
      memref.store %x, %out[%k] : memref<512xf32>
    }
    // expected-remark @+1 {{stays synchronous: it may not read what is there any more: its source may be written in between}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
  gpu.func @barrier(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    // expected-note @+1 {{this one: move both to one side of it}}
    gpu.barrier
    // expected-remark @+1 {{stays synchronous: it is read before, and written after, an operation that may order accesses of several threads}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
  gpu.func @another_block(%in: memref<512xf32>, %p: i1) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    // expected-note @+1 {{it is loaded here}}
    %v = memref.load %in[%t] : memref<512xf32>
    scf.if %p {
      // expected-remark @+1 {{stays synchronous: it stores what another block loads}}
      memref.store %v, %s[%t] : !Line
    }
    gpu.return
  }
  gpu.func @unknown_source(%in: memref<512xf32>, %other: memref<512xf32>, %p: i1) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %either = arith.select %p, %in, %other : memref<512xf32>
    %v = memref.load %either[%t] : memref<512xf32>
    // expected-remark @+2 {{stays synchronous: it has a source that may be in another memory than global memory}}
    // expected-note @+1 {{give its type #gpu.address_space<global>}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
}

// -----

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @copies_of_memrefs {
  gpu.func @all_threads(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    // expected-remark @+2 {{stays synchronous: it is executed by all threads of the block, each of which copies all of it}}
    // expected-note @+1 {{give each thread a part of its own, or run with engine=tma, which copies it once}}
    memref.copy %in, %s : memref<512xf32> to !Line
    gpu.return
  }
  gpu.func @parts(%in: memref<4096x512xf32>, %n: index) workgroup(%s: memref<512x512xf32, 3>) kernel {
    %t = gpu.thread_id x
    %row = memref.subview %in[%t, 0] [1, 512] [1, 1] : memref<4096x512xf32> to memref<512xf32, strided<[1], offset: ?>>
    %to = memref.subview %s[%t, 0] [1, 512] [1, 1] : memref<512x512xf32, 3> to memref<512xf32, strided<[1], offset: ?>, 3>
    // expected-remark @+2 {{stays synchronous: it would be 128 copies of 16 bytes in each thread, more than 64}}
    // expected-note @+1 {{give each thread a smaller part}}
    memref.copy %row, %to : memref<512xf32, strided<[1], offset: ?>> to memref<512xf32, strided<[1], offset: ?>, 3>
    %some = memref.subview %in[%t, 0] [1, %n] [1, 1] : memref<4096x512xf32> to memref<?xf32, strided<[1], offset: ?>>
    %place = memref.subview %s[%t, 0] [1, %n] [1, 1] : memref<512x512xf32, 3> to memref<?xf32, strided<[1], offset: ?>, 3>
    // expected-remark @+1 {{stays synchronous: it has a size that is not static}}
    memref.copy %some, %place : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>, 3>
    %first = memref.subview %row[0] [4] [1] : memref<512xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %free = memref.subview %to[0] [4] [1] : memref<512xf32, strided<[1], offset: ?>, 3> to memref<4xf32, strided<[1], offset: ?>, 3>
    // expected-remark @+2 {{stays synchronous: it is a loop that is not written out}}
    // expected-note @+1 {{run --convert-linalg-to-loops}}
    linalg.copy ins(%first : memref<4xf32, strided<[1], offset: ?>>) outs(%free : memref<4xf32, strided<[1], offset: ?>, 3>)
    gpu.return
  }
}

// -----

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @regions {
  gpu.func @other_work(%in: memref<512xf32>, %x: f32) workgroup(%a: !Line, %b: !Line) kernel {
    %t = gpu.thread_id x
    // expected-remark @+1 {{stays synchronous: it is a region that does not only transfer}}
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %a[%t] : !Line
      // expected-note @+1 {{this is no transfer: move it out of the region}}
      memref.store %x, %b[%t] : !Line
      async.yield
    }
    async.await %token
    gpu.return
  }
  gpu.func @one_refused(%in: memref<512xf32>, %h: memref<512xf16>) workgroup(%a: !Line, %b: memref<512xf16, 3>) kernel {
    %t = gpu.thread_id x
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %a[%t] : !Line
      %w = memref.load %h[%t] : memref<512xf16>
      // expected-remark @+2 {{stays synchronous: it is of 2 bytes, but cp.async copies 4, 8 or 16}}
      // expected-note @+1 {{let each thread transfer adjacent elements}}
      memref.store %w, %b[%t] : memref<512xf16, 3>
      async.yield
    }
    async.await %token
    gpu.return
  }
}

// -----

// These are no transfers from global memory: nothing is said of them.
!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @no_transfers {
  gpu.func @others(%in: memref<512xf32>, %out: memref<512xf32>, %x: f32)
      workgroup(%a: !Line, %b: !Line) private(%p: memref<512xf32, #gpu.address_space<private>>) kernel {
    %t = gpu.thread_id x
    %stack = memref.alloca() : memref<512xf32>
    memref.store %x, %a[%t] : !Line
    %u = memref.load %a[%t] : !Line
    memref.store %u, %b[%t] : !Line
    %v = memref.load %stack[%t] : memref<512xf32>
    memref.store %v, %b[%t] : !Line
    %w = memref.load %in[%t] : memref<512xf32>
    memref.store %w, %out[%t] : memref<512xf32>
    %y = memref.load %p[%t] : memref<512xf32, #gpu.address_space<private>>
    memref.store %y, %b[%t] : !Line
    gpu.return
  }
}

// -----

// Choices that are no copies. What is loaded in one arm alone stays there.

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @choices {
  gpu.func @other_number(%in: memref<512xf32>, %inside: i1) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    // expected-note @+1 {{it is loaded here}}
    %v = memref.load %in[%t] : memref<512xf32>
    // expected-note @+1 {{chosen here}}
    %w = arith.select %inside, %v, %one : f32
    // expected-remark @+1 {{stays synchronous: it fills what it does not read with something else than zeros, but a copy writes zeros there}}
    memref.store %w, %s[%t] : !Line
    gpu.return
  }
  gpu.func @mask_of_others(%in: memref<512xf32>, %mask: vector<4xi1>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %v = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    %w = arith.select %mask, %v, %zeros : vector<4xi1>, vector<4xf32>
    // expected-remark @+2 {{stays synchronous: it has a mask that need not be a number of first elements, which is all that a copy can leave out}}
    // expected-note @+1 {{make the mask by vector.create_mask}}
    vector.store %w, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @last_elements(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %mask = vector.create_mask %n : vector<4xi1>
    %v = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    %w = arith.select %mask, %zeros, %v : vector<4xi1>, vector<4xf32>
    // expected-remark @+1 {{stays synchronous: it reads where a mask is off, but a copy leaves the last elements out}}
    vector.store %w, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @cast_mask(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : vector<4x2xf32>
    %mask = vector.create_mask %n, %n : vector<4x2xi1>
    %v = vector.load %in[%c0] : memref<512xf32>, vector<8xf32>
    %w = vector.shape_cast %v : vector<8xf32> to vector<4x2xf32>
    %x = arith.select %mask, %w, %zeros : vector<4x2xi1>, vector<4x2xf32>
    %y = vector.shape_cast %x : vector<4x2xf32> to vector<8xf32>
    // expected-remark @+2 {{stays synchronous: it has a mask of elements that are cast or chosen among before}}
    // expected-note @+1 {{mask the load itself}}
    vector.store %y, %s[%c0] : !Line, vector<8xf32>
    gpu.return
  }
  gpu.func @address_of_the_arm(%in: memref<512xf32>, %n: index, %inside: i1) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %zero = arith.constant 0.0 : f32
    %v = scf.if %inside -> f32 {
      // expected-note @+1 {{compute this before the branch}}
      %i = arith.divui %t, %n : index
      %w = memref.load %in[%i] : memref<512xf32>
      scf.yield %w : f32
    } else {
      scf.yield %zero : f32
    }
    // expected-remark @+1 {{stays synchronous: it has an address that may be computed in its branch only}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
  gpu.func @branch_that_writes(%in: memref<512xf32>, %out: memref<512xf32>, %inside: i1) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %zero = arith.constant 0.0 : f32
    %v = scf.if %inside -> f32 {
      %w = memref.load %in[%t] : memref<512xf32>
      // expected-note @+1 {{move this out of it}}
      memref.store %zero, %out[%t] : memref<512xf32>
      scf.yield %w : f32
    } else {
      scf.yield %zero : f32
    }
    // expected-remark @+1 {{stays synchronous: it is loaded in a branch that does more than to load}}
    memref.store %v, %s[%t] : !Line
    gpu.return
  }
}

// -----

// What the condition guards: a division by zero, a shift by too much, a view beyond the buffer.

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @guarded_addresses {
  gpu.func @remainder(%in: memref<512xf32>, %d: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %some = arith.cmpi ugt, %d, %c0 : index
    %x = scf.if %some -> f32 {
      // expected-note @+1 {{compute this before the branch}}
      %at = arith.remui %t, %d : index
      %y = memref.load %in[%at] : memref<512xf32>
      scf.yield %y : f32
    } else {
      scf.yield %z : f32
    }
    // expected-remark @+1 {{stays synchronous: it has an address that may be computed in its branch only}}
    memref.store %x, %s[%t] : !Line
    gpu.return
  }
  gpu.func @quotient_of_a_map(%in: memref<512xf32>, %d: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %some = arith.cmpi sgt, %d, %c0 : index
    %x = scf.if %some -> f32 {
      // expected-note @+1 {{compute this before the branch}}
      %at = affine.apply affine_map<(i)[d] -> (i floordiv d)>(%t)[%d]
      %y = memref.load %in[%at] : memref<512xf32>
      scf.yield %y : f32
    } else {
      scf.yield %z : f32
    }
    // expected-remark @+1 {{stays synchronous: it has an address that may be computed in its branch only}}
    memref.store %x, %s[%t] : !Line
    gpu.return
  }
  gpu.func @shift(%in: memref<512xf32>, %d: index) workgroup(%s: !Line) kernel {
    %c64 = arith.constant 64 : index
    %z = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %some = arith.cmpi ult, %d, %c64 : index
    %x = scf.if %some -> f32 {
      // expected-note @+1 {{compute this before the branch}}
      %at = arith.shrui %t, %d : index
      %y = memref.load %in[%at] : memref<512xf32>
      scf.yield %y : f32
    } else {
      scf.yield %z : f32
    }
    // expected-remark @+1 {{stays synchronous: it has an address that may be computed in its branch only}}
    memref.store %x, %s[%t] : !Line
    gpu.return
  }
  gpu.func @view(%in: memref<?xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %some = arith.cmpi ult, %t, %n : index
    %x = scf.if %some -> f32 {
      // expected-note @+1 {{compute this before the branch}}
      %part = memref.subview %in[%t] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
      %y = memref.load %part[%c0] : memref<1xf32, strided<[1], offset: ?>>
      scf.yield %y : f32
    } else {
      scf.yield %z : f32
    }
    // expected-remark @+1 {{stays synchronous: it has an address that may be computed in its branch only}}
    memref.store %x, %s[%t] : !Line
    gpu.return
  }
}
