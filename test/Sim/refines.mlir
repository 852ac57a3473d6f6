// A form of a kernel is held against another one: it has to wait for all that the other one waits for. That needs
// nobody who reads what is copied, and minds no copies to one place.
//
// RUN: async-opt %s --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --refines=%s | FileCheck %s --check-prefix=SAME
// RUN: sed -e "s/<cp_async>, 1/<cp_async>, 2/" %t.counted.mlir > %t.relaxed.mlir
// RUN: not async-sim %t.relaxed.mlir --refines=%s | FileCheck %s --check-prefix=LATE
// RUN: not async-sim %t.relaxed.mlir --refines=%s --json | FileCheck %s --check-prefix=JSON
// RUN: sed -e "s/%c4 step/%c3 step/" %s > %t.shorter.mlir
// RUN: not async-sim %t.shorter.mlir --refines=%s | FileCheck %s --check-prefix=OTHER

!src = memref<16xf32>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

// SAME: rolling: clean
// SAME-NOT: error

// LATE: rolling: error: gpux.copy at {{.*}}, iteration 1 is reached while a copy may be in flight that {{.*}} has waited for by now
// LATE-NEXT: the copy:  gpux.copy at {{.*}}, by thread 0 of block 0
// LATE-NEXT: last wait: gpux.wait_group at {{.*}}, iteration 0

// JSON: "refines": {
// JSON-NEXT: "message": "rolling: error: gpux.copy

// OTHER: rolling: error: this is another program: thread 0 of block 0 comes to the end of the thread where {{.*}} comes to gpux.copy
func.func @rolling(%src: !src) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %first = gpux.copy async %src[%c0], %dst[%c0], 1 : !src to !dst
  %last = scf.for %i = %c1 to %c4 step %c1 iter_args(%before = %first) -> (!async.token) {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !src to !dst
    async.await %before
    scf.yield %t : !async.token
  }
  async.await %last
  return
}

// Other places are another program, be they as far from the start of their buffers.
//
// RUN: sed -e "s/load .src/load \x25other/" %s > %t.elsewhere.mlir
// RUN: not async-sim %t.elsewhere.mlir --kernel=last_of_two --refines=%s | FileCheck %s --check-prefix=ELSEWHERE
// RUN: async-sim %s --kernel=last_of_two --refines=%s | FileCheck %s --check-prefix=ITSELF
// ITSELF: last_of_two: clean
// ITSELF-NOT: error
// ELSEWHERE: last_of_two: error: this is another program: thread 0 of block 0 comes to memref.load at
func.func @last_of_two(%src: !src, %other: !src, %i: index) {
  %x = memref.load %src[%i] : !src
  %y = memref.load %other[%i] : !src
  return
}

// A copy reads the same place in both forms, too: else the tile is another one, and all else looks right.
//
// RUN: async-sim %s --kernel=tile --refines=%s | FileCheck %s --check-prefix=TILE
// RUN: sed -e "s/src.%%i.,/src[%%c0],/" %s > %t.source.mlir
// RUN: not async-sim %t.source.mlir --kernel=tile --refines=%s | FileCheck %s --check-prefix=SOURCE
// RUN: sed -e "s/4, %%c4 :/4, %%c2 :/" %s > %t.less.mlir
// RUN: not async-sim %t.less.mlir --kernel=tile --refines=%s | FileCheck %s --check-prefix=SOURCE
// TILE: tile: clean
// TILE-NOT: error
// SOURCE: tile: error: this is another program: thread 0 of block 0 at gpux.copy at {{.*}} copies from or to another place in memory than {{.*}}refines.mlir at gpux.copy at
func.func @tile(%src: !src) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %i = arith.constant 8 : index
  %dst = memref.alloc() : !dst
  %t = gpux.copy async %src[%i], %dst[%c0], 4, %c4 : !src to !dst
  async.await %t
  return
}
