// What a kernel prints: block by block, thread by thread, as C formats it.
//
// RUN: async-sim %s --kernel=ordered --block=2 --grid=2 | FileCheck %s --check-prefix=ORDER --strict-whitespace
// RUN: async-sim %s --kernel=formats --arg 0=-7 | FileCheck %s --check-prefix=FORMAT --strict-whitespace
// RUN: not async-sim %s --kernel=before_the_end | FileCheck %s --check-prefix=END
// RUN: async-sim %s --kernel=ordered --block=2 --json | FileCheck %s --check-prefix=JSON
// RUN: not async-sim %s --kernel=text 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not async-sim %s --kernel=kind 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not async-sim %s --kernel=count 2>&1 | FileCheck %s --check-prefix=COUNT

// A thread's lines stay together, even with a barrier between them.
//      ORDER:{{^}}block 0, thread 0 before
// ORDER-NEXT:{{^}}block 0, thread 0 after
// ORDER-NEXT:{{^}}block 0, thread 1 before
// ORDER-NEXT:{{^}}block 0, thread 1 after
// ORDER-NEXT:{{^}}block 1, thread 0 before
//      ORDER:{{^}}block 1, thread 1 after
// ORDER-NEXT:{{^}}ordered: clean
// JSON: "printed": "block 0, thread 0 before\nblock 0, thread 0 after\nblock 0, thread 1 before\n
func.func @ordered() {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  gpu.printf "block %llu, thread %llu before\n", %b, %t : index, index
  gpu.barrier
  gpu.printf "block %llu, thread %llu after\n", %b, %t : index, index
  return
}

// FORMAT:{{^}}-7|   -7|-0007|-7   |fffffff9|0xfffffff9|100%
// FORMAT-NEXT:{{^}}1.500000|  1.50|1.5e+00|1.5|nan|A
// FORMAT-NEXT:{{^}}formats: clean
func.func @formats(%i: i32) {
  %x = arith.constant 1.5 : f16
  %y = arith.constant 1.5 : f64
  %nan = arith.constant 0x7FC00000 : f32
  %a = arith.constant 65 : i8
  gpu.printf "%d|%5d|%05i|%-5d|%x|%#x|100%%\n", %i, %i, %i, %i, %i, %i : i32, i32, i32, i32, i32, i32
  gpu.printf "%f|%6.2f|%.1e|%g|%f|%c", %x, %y, %y, %y, %nan, %a : f16, f64, f64, f64, f32, i8
  return
}

// END: here
// END-NEXT: error: cf.assert: the assertion failed: over
func.func @before_the_end() {
  %false = arith.constant false
  gpu.printf "here\n"
  cf.assert %false, "over"
  return
}

// TEXT: error: the interpreter does not know '%s'
func.func @text(%i: i64) {
  gpu.printf "%s", %i : i64
  return
}

// KIND: error: '%d' does not print operand 0, of type f32
func.func @kind(%x: f32) {
  gpu.printf "%d", %x : f32
  return
}

// COUNT: error: the format takes more operands than there are
func.func @count(%i: i32) {
  gpu.printf "%d %d", %i : i32
  return
}
