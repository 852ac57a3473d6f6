// A buffer has room for all of its elements: sizes are folded with the layout of the machine, which aligns an i96 to 16 bytes, and not with LLVM's
// default, in which it takes 12.

// RUN: async-opt run %s | FileCheck %s
// RUN: async-opt run %s -O0 | FileCheck %s

func.func private @printI64(i64)
func.func private @printNewline()

// CHECK: 0
func.func @main() {
  %c0 = arith.constant 0 : index
  %n = arith.constant 1000 : index
  %ones = arith.constant -1 : i96
  %zero = arith.constant 0 : i96
  %first = memref.alloc(%n) : memref<?xi96>
  %second = memref.alloc(%n) : memref<?xi96>
  linalg.fill ins(%zero : i96) outs(%second : memref<?xi96>)
  linalg.fill ins(%ones : i96) outs(%first : memref<?xi96>)
  %x = memref.load %second[%c0] : memref<?xi96>
  %y = arith.trunci %x : i96 to i64
  call @printI64(%y) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %second : memref<?xi96>
  memref.dealloc %first : memref<?xi96>
  return
}
