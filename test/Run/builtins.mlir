// RUN: async-opt run %s | FileCheck %s

// Functions that LLVM calls by itself on processors without conversions to bf16: a bf16 is returned where LLVM expects it.

// CHECK: 0.332031
// CHECK-NEXT: 0.332031

llvm.func @__truncsfbf2(f32) -> bf16
llvm.func @__truncdfbf2(f64) -> bf16
llvm.func @printBF16(i16)
llvm.func @printNewline()

llvm.func @main() {
  %x = llvm.mlir.constant(0.33203125 : f32) : f32
  %y = llvm.mlir.constant(0.33203126 : f64) : f64
  %0 = llvm.call @__truncsfbf2(%x) : (f32) -> bf16
  %1 = llvm.bitcast %0 : bf16 to i16
  llvm.call @printBF16(%1) : (i16) -> ()
  llvm.call @printNewline() : () -> ()
  %2 = llvm.call @__truncdfbf2(%y) : (f64) -> bf16
  %3 = llvm.bitcast %2 : bf16 to i16
  llvm.call @printBF16(%3) : (i16) -> ()
  llvm.return
}
