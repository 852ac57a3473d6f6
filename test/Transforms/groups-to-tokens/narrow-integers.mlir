// RUN: async-opt %s --gpux-groups-to-tokens 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-groups-to-tokens 2>/dev/null | async-sim - --kernel=wraps_around --block=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-groups-to-tokens 2>/dev/null | async-sim - --kernel=without_a_sign --block=1 | FileCheck %s --check-prefix=UNSIGNED

// Constants have the width of their types: which rows meet is computed as the program computes it.

!src = memref<64xf32>
!dst = memref<512x4xf32, 3>

gpu.module @kernels {
  // 64 * 5 is 64 in 8 bits.
  //
  // SIM: wraps_around: clean
  // CHECK-LABEL: gpu.func @wraps_around
  // CHECK: %[[T:.*]] = gpux.copy async
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: memref.load
  gpu.func @wraps_around(%src: !src, %out: !src) workgroup(%s: !dst) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = arith.constant 64 : i8
    %y = arith.constant 5 : i8
    %product = arith.muli %x, %y : i8
    %row = arith.index_cast %product : i8 to index
    gpux.copy %src[%c0], %s[%row, %c0], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %v = memref.load %s[%c64, %c0] : !dst
    memref.store %v, %out[%c0] : !src
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // Without a sign, the i8 -56 is 200.
  //
  // UNSIGNED: without_a_sign: clean
  // CHECK-LABEL: gpu.func @without_a_sign
  // CHECK: %[[T:.*]] = gpux.copy async
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: memref.load
  gpu.func @without_a_sign(%src: !src, %out: !src) workgroup(%s: !dst) kernel {
    %c0 = arith.constant 0 : index
    %c200 = arith.constant 200 : index
    %x = arith.constant -56 : i8
    %row = arith.index_castui %x : i8 to index
    gpux.copy %src[%c0], %s[%row, %c0], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %v = memref.load %s[%c200, %c0] : !dst
    memref.store %v, %out[%c0] : !src
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // It is row 64, so another row needs no wait.
  //
  // CHECK-LABEL: gpu.func @another_row
  // CHECK: gpux.copy async
  // CHECK-NEXT: memref.load
  gpu.func @another_row(%src: !src, %out: !src) workgroup(%s: !dst) kernel {
    %c0 = arith.constant 0 : index
    %c320 = arith.constant 320 : index
    %x = arith.constant 64 : i8
    %y = arith.constant 5 : i8
    %product = arith.muli %x, %y : i8
    %row = arith.index_cast %product : i8 to index
    gpux.copy %src[%c0], %s[%row, %c0], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %v = memref.load %s[%c320, %c0] : !dst
    memref.store %v, %out[%c0] : !src
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}
