// A loop that loads tiles and uses them, as one writes it, down to PTX: the transfers become copies of 16 bytes.
//
// RUN: async-opt %s --async-to-gpux --canonicalize --cse -o %t.tokens.mlir
// RUN: FileCheck %s --input-file %t.tokens.mlir --check-prefix=TOKENS
// RUN: async-opt %t.tokens.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: async-sim %s --kernel=sum_of_rows --arg 0=8x24:ramp --arg 1=zero --print | FileCheck %s --check-prefix=SUM
// RUN: async-sim %t.tokens.mlir --kernel=sum_of_rows --arg 0=8x24:ramp --arg 1=zero --print | FileCheck %s --check-prefix=SUM
//
// RUN: async-opt %s --async-to-gpux="chip=sm_90a engine=tma" --gpux-lower-to-nvvm="chip=sm_90a format=isa" \
// RUN:   | async-translate --ptx -o %t.tma.ptx
// RUN: FileCheck %s --input-file %t.tma.ptx --check-prefix=TMA
// RUN: ptxas -arch=sm_90a %t.tma.ptx -o %t.tma.cubin
// RUN: async-opt %s --async-to-gpux="chip=sm_90a engine=tma" \
// RUN:   | async-sim --kernel=lines --arg 0=3x256:ramp --arg 2=3 | FileCheck %s --check-prefix=LINES

!Tile = memref<8x64xf32, #gpu.address_space<workgroup>>
!Line = memref<256xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Each thread loads a row of 24 elements into one of 64, and adds it up.
  // SUM: sum_of_rows: clean
  // SUM: argument 1: 276 852 1428 2004 2580 3156 3732 4308

  // TOKENS-LABEL: gpu.func @sum_of_rows
  // TOKENS: scf.for
  // TOKENS: %[[T0:.*]] = gpux.copy async %{{.*}}, 4, %{{.*}} {bypass_l1}
  // TOKENS: %[[T1:.*]] = gpux.copy async %{{.*}}, 4, %{{.*}} {bypass_l1}
  // TOKENS-NEXT: async.await %[[T0]], %[[T1]]
  // TOKENS-NEXT: gpu.barrier

  // CHECK-LABEL: .entry sum_of_rows(
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, [[FIRST:%r[0-9]+]];
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, [[SECOND:%r[0-9]+]];
  // CHECK: cp.async.commit_group;
  // CHECK-NEXT: cp.async.wait_group 0;
  // CHECK-NEXT: bar.sync
  gpu.func @sum_of_rows(%a: memref<?x?xf32, strided<[24, 1]>>, %sums: memref<8xf32>) workgroup(%s: !Tile) kernel
      attributes {known_block_size = array<i32: 8, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %row = gpu.thread_id x
    scf.for %part = %c0 to %c64 step %c8 {
      %tile = vector.transfer_read %a[%row, %part], %zero : memref<?x?xf32, strided<[24, 1]>>, vector<1x8xf32>
      vector.transfer_write %tile, %s[%row, %part] {in_bounds = [true, true]} : vector<1x8xf32>, !Tile
      gpu.barrier
    }
    %total = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f32) {
      %x = memref.load %s[%row, %i] : !Tile
      %more = arith.addf %sum, %x : f32
      scf.yield %more : f32
    }
    memref.store %total, %sums[%row] : memref<8xf32>
    gpu.return
  }

  // All threads of the block copy a line: one bulk copy, of memory that the kernel does not write.
  // TMA-LABEL: .entry lines(
  // The end of the loop stands before its beginning.
  // TMA: mbarrier.try_wait.parity
  // TMA: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
  // LINES: lines: clean
  gpu.func @lines(%a: memref<?x256xf32>, %out: memref<256xf32> {llvm.noalias}, %n: index) workgroup(%s: !Line) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c255 = arith.constant 255 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c255, %t : index
    %total = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f32) {
      %line = memref.subview %a[%k, 0] [1, 256] [1, 1] : memref<?x256xf32> to memref<256xf32, strided<[1], offset: ?>>
      memref.copy %line, %s : memref<256xf32, strided<[1], offset: ?>> to !Line
      %x = memref.load %s[%mirrored] : !Line
      %more = arith.addf %sum, %x : f32
      gpu.barrier
      scf.yield %more : f32
    }
    memref.store %total, %out[%t] : memref<256xf32>
    gpu.return
  }
}
