// A copy for each role of what a block has once would be several.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-split-roles

gpu.module @m {
  gpu.func @kernel(%out: memref<?xf32>, %v: f32) kernel attributes {gpux.roles, known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 32 : i32
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %threads
      memref.store %v, %out[%c1] : memref<?xf32>
    }
    // expected-note @+2 {{move it before everything that is for some warps only, or after all that}}
    // expected-error @+1 {{'memref.alloc' op is there once for a block, but each role of its warps gets a copy of the code around it}}
    %a = memref.alloc() : memref<4xf32, #gpu.address_space<workgroup>>
    scf.if %first {
      memref.store %v, %a[%c1] : memref<4xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%out: memref<4xf32>, %v: f32) workgroup(%a: memref<4xf32, #gpu.address_space<workgroup>>) kernel attributes {gpux.roles, known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 32 : i32
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %threads
      memref.store %v, %a[%c1] : memref<4xf32, #gpu.address_space<workgroup>>
    }
    // expected-note @+2 {{move it before everything that is for some warps only, or after all that}}
    // expected-error @+1 {{'gpux.bulk_store' op is there once for a block, but each role of its warps gets a copy of the code around it}}
    %read, %done = gpux.bulk_store async %a, %out : memref<4xf32, #gpu.address_space<workgroup>> to memref<4xf32>
    async.await %done
    scf.if %first {
      memref.store %v, %a[%c1] : memref<4xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
