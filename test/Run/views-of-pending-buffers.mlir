// The address of a view is computed where the view is used: where it is made, the buffer need not have been allocated. Tokens order all uses.

// RUN: async-opt run %s --device=sim | FileCheck %s
// RUN: async-opt run %s --threads=1 -O0 | FileCheck %s
// RUN: async-sim %s --entry=main | FileCheck %s

!device = memref<64xi32, #gpu.address_space<global>>
!half = memref<32xi32, strided<[1], offset: 32>, #gpu.address_space<global>>
!odd = memref<16xi32, strided<[2], offset: 33>, #gpu.address_space<global>>

func.func private @printI64(i64)
func.func private @printNewline()

// CHECK: 7
// CHECK: 7
func.func @main() {
  %c15 = arith.constant 15 : index
  %c31 = arith.constant 31 : index
  %seven = arith.constant 7 : i32
  %h = memref.alloc() : memref<32xi32>
  %host = memref.alloc() : memref<16xi32>
  %a, %t = gpux.alloc async () : !device
  %half = memref.subview %a[32] [32] [1] : !device to !half
  // A view of a view.
  %odd = memref.subview %half[1] [16] [2] : !half to !odd
  %s = gpux.memset async [%t] %seven, %half : !half
  %u = gpux.transfer async [%s] %half, %h : !half to memref<32xi32>
  %v = gpux.transfer async [%u] %odd, %host : !odd to memref<16xi32>
  %d = gpux.dealloc async [%v] %a : !device
  async.await %d
  %x = memref.load %h[%c31] : memref<32xi32>
  %y = arith.extsi %x : i32 to i64
  call @printI64(%y) : (i64) -> ()
  call @printNewline() : () -> ()
  %z = memref.load %host[%c15] : memref<16xi32>
  %w = arith.extsi %z : i32 to i64
  call @printI64(%w) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %h : memref<32xi32>
  memref.dealloc %host : memref<16xi32>
  return
}
