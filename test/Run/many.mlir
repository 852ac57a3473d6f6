// A chain of a million tasks, a million tasks after one, and awaits 10 000 calls deep end on one worker, with a bounded stack.

// RUN: async-opt run %s --threads=1 | FileCheck %s
// RUN: env ASYNCOPT_CENSUS=1 async-opt run %s --threads=1 2>&1 >/dev/null | FileCheck %s --check-prefix=CENSUS

// CHECK: 1000000
// CHECK-NEXT: 1000000
// CHECK-NEXT: 10000

// CENSUS: alive at the end: 0 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines

func.func private @printI64(i64)
func.func private @printNewline()

func.func private @chain(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %ready = async.ready
  %t, %v = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready, %v = %zero) -> (!async.token, i64) {
    %u, %w = async.region [%t] -> (i64) {
      %s = arith.addi %v, %one : i64
      async.yield %s : i64
    }
    scf.yield %u, %w : !async.token, i64
  }
  async.await %t
  return %v : i64
}

func.func private @fan(%n: index, %m: memref<i64>) -> !async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %first = async.region {
    memref.store %zero, %m[] : memref<i64>
    async.yield
  }
  %all = scf.for %i = %c0 to %n step %c1 iter_args(%all = %first) -> !async.token {
    %t = async.region [%first] {
      %old = memref.atomic_rmw addi %one, %m[] : (i64, memref<i64>) -> i64
      async.yield
    }
    %both = async.join %all, %t
    scf.yield %both : !async.token
  }
  return %all : !async.token
}

func.func private @deep(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %more = arith.cmpi sgt, %n, %zero : i64
  %r = scf.if %more -> i64 {
    %m = arith.subi %n, %one : i64
    %t, %v = async.region -> (i64) {
      %x = func.call @deep(%m) : (i64) -> i64
      async.yield %x : i64
    }
    async.await %t
    %s = arith.addi %v, %one : i64
    scf.yield %s : i64
  } else {
    scf.yield %zero : i64
  }
  return %r : i64
}

func.func @main() {
  %million = arith.constant 1000000 : index
  %c = call @chain(%million) : (index) -> i64
  call @printI64(%c) : (i64) -> ()
  call @printNewline() : () -> ()
  %m = memref.alloc() : memref<i64>
  %t = call @fan(%million, %m) : (index, memref<i64>) -> !async.token
  async.await %t
  %f = memref.load %m[] : memref<i64>
  call @printI64(%f) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %m : memref<i64>
  %n = arith.constant 10000 : i64
  %d = call @deep(%n) : (i64) -> i64
  call @printI64(%d) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
