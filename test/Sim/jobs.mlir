// However many blocks run at a time, the report is the same: it names the buffers of the blocks that it is about, and copies of
// other blocks.
//
// RUN: not async-sim %s --kernel=out_of_bounds --grid=4 --jobs=1 | FileCheck %s --check-prefix=BOUNDS
// RUN: not async-sim %s --kernel=out_of_bounds --grid=4 --jobs=3 | FileCheck %s --check-prefix=BOUNDS
// RUN: not async-sim %s --kernel=unwritten --grid=2 --jobs=1 | FileCheck %s --check-prefix=NEAREST
// RUN: not async-sim %s --kernel=unwritten --grid=2 --jobs=2 | FileCheck %s --check-prefix=NEAREST

!line = memref<8xf32, #gpu.address_space<workgroup>>

gpu.module @jobs {
  memref.global @fresh : memref<8xf32> = uninitialized

  // The first block has a buffer more.
  // BOUNDS: error: gpux.copy: 16 bytes from byte 24 on are not inside of workgroup buffer %line, which has 32 bytes
  // BOUNDS-NEXT: this: thread 0 of block 3
  gpu.func @out_of_bounds(%g: memref<64xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %one = arith.constant 1.0 : f32
    %block = gpu.block_id x
    %line = memref.alloc() : !line
    %first = arith.cmpi eq, %block, %c0 : index
    scf.if %first {
      %own = memref.alloca() : memref<2xf32>
      memref.store %one, %own[%c0] : memref<2xf32>
    }
    %last = arith.cmpi eq, %block, %c3 : index
    %i = arith.select %last, %c6, %c0 : index
    gpux.copy %g[%c0], %line[%i], 4 : memref<64xf32> to !line
    gpu.return
  }

  // The first block copies to the first half, and the second one reads the other half.
  // NEAREST: error: uninitialized read: memref.load reads memory that nothing has written
  // NEAREST: this: thread 0 of block 1
  // NEAREST: nearest: gpux.bulk_store at {{.*}}, thread 0 of block 0
  gpu.func @unwritten() workgroup(%buf: memref<4xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %block = gpu.block_id x
    %fresh = memref.get_global @fresh : memref<8xf32>
    %half = memref.subview %fresh[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
    %first = arith.cmpi eq, %block, %c0 : index
    scf.if %first {
      vector.store %zero, %buf[%c0] : memref<4xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpux.bulk_store %buf, %half : memref<4xf32, #gpu.address_space<workgroup>> to memref<4xf32, strided<[1]>>
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 0
    } else {
      %x = memref.load %fresh[%c4] : memref<8xf32>
    }
    gpu.return
  }
}
