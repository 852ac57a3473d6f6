// A task gets all that it captures, whatever LLVM aligns that to: the layout that its frame's size is computed with is that of the accesses.

// RUN: async-opt run %s --threads=1 | FileCheck %s
// RUN: async-opt run %s --threads=2 -O0 | FileCheck %s

func.func private @printI64(i64)
func.func private @printNewline()

// LLVM's default layout, which a module without one gets, aligns an i64 to 4 bytes.
// CHECK:      24
// CHECK-NEXT: 48
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %ready = async.ready
  %all = scf.for %i = %c1 to %c3 step %c1 iter_args(%before = %ready) -> (!async.token) {
    %a0 = arith.index_cast %i : index to i32
    %a1 = arith.addi %a0, %a0 : i32
    %a2 = arith.addi %a1, %a0 : i32
    %a3 = arith.addi %a2, %a0 : i32
    %b0 = arith.addi %i, %i : index
    %b1 = arith.addi %b0, %i : index
    %b2 = arith.addi %b1, %i : index
    %b3 = arith.addi %b2, %i : index
    %t = async.region [%before] {
      %x0 = arith.index_cast %a0 : i32 to index
      %s0 = arith.addi %x0, %b0 : index
      %x1 = arith.index_cast %a1 : i32 to index
      %y1 = arith.addi %x1, %b1 : index
      %x2 = arith.index_cast %a2 : i32 to index
      %y2 = arith.addi %x2, %b2 : index
      %x3 = arith.index_cast %a3 : i32 to index
      %y3 = arith.addi %x3, %b3 : index
      %s1 = arith.addi %s0, %y1 : index
      %s2 = arith.addi %s1, %y2 : index
      %s3 = arith.addi %s2, %y3 : index
      %n = arith.index_cast %s3 : index to i64
      func.call @printI64(%n) : (i64) -> ()
      func.call @printNewline() : () -> ()
    }
    scf.yield %t : !async.token
  }
  async.await %all
  return
}
