// RUN: async-opt run %s | FileCheck %s

// A function or a loop that hands on a tensor twice, or a part of it: what is written to one result is not seen through the other one.
func.func private @printI64(i64)
func.func private @printNewline()

// CHECK:      1
// CHECK-NEXT: 7
func.func private @twice(%x: i64) -> (tensor<2xi64>, tensor<2xi64>) {
  %t = tensor.from_elements %x, %x : tensor<2xi64>
  return %t, %t : tensor<2xi64>, tensor<2xi64>
}

// CHECK-NEXT: 2
// CHECK-NEXT: 7
func.func private @part(%x: i64) -> (tensor<2xi64>, tensor<1xi64>) {
  %t = tensor.from_elements %x, %x : tensor<2xi64>
  %part = tensor.extract_slice %t[0] [1] [1] : tensor<2xi64> to tensor<1xi64>
  return %t, %part : tensor<2xi64>, tensor<1xi64>
}

// CHECK-NEXT: 3
// CHECK-NEXT: 7
func.func private @loop(%x: i64, %n: index) -> (tensor<2xi64>, tensor<2xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.from_elements %x, %x : tensor<2xi64>
  %b = tensor.from_elements %x, %x : tensor<2xi64>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<2xi64>, tensor<2xi64>) {
    %t = tensor.from_elements %x, %x : tensor<2xi64>
    scf.yield %t, %t : tensor<2xi64>, tensor<2xi64>
  }
  return %r#0, %r#1 : tensor<2xi64>, tensor<2xi64>
}

func.func private @print(%kept: i64, %written: tensor<2xi64>) {
  %c0 = arith.constant 0 : index
  %new = tensor.extract %written[%c0] : tensor<2xi64>
  call @printI64(%kept) : (i64) -> ()
  call @printNewline() : () -> ()
  call @printI64(%new) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %seven = arith.constant 7 : i64

  %a, %b = call @twice(%one) : (i64) -> (tensor<2xi64>, tensor<2xi64>)
  %u = tensor.insert %seven into %a[%c0] : tensor<2xi64>
  %x = tensor.extract %b[%c0] : tensor<2xi64>
  call @print(%x, %u) : (i64, tensor<2xi64>) -> ()

  %c, %d = call @part(%two) : (i64) -> (tensor<2xi64>, tensor<1xi64>)
  %v = tensor.insert %seven into %c[%c0] : tensor<2xi64>
  %y = tensor.extract %d[%c0] : tensor<1xi64>
  call @print(%y, %v) : (i64, tensor<2xi64>) -> ()

  %e, %f = call @loop(%three, %c3) : (i64, index) -> (tensor<2xi64>, tensor<2xi64>)
  %w = tensor.insert %seven into %e[%c0] : tensor<2xi64>
  %z = tensor.extract %f[%c0] : tensor<2xi64>
  call @print(%z, %w) : (i64, tensor<2xi64>) -> ()
  return
}
