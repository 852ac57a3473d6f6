// Memory is freed after the last copy from it, in the order of the tokens.
func.func private @printF32(f32)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %output = memref.alloc() : memref<8xf32>
  memref.store %one, %output[%c0] : memref<8xf32>
  %registered = memref.cast %output : memref<8xf32> to memref<*xf32>
  gpu.host_register %registered : memref<*xf32>
  %m = gpu.wait async
  %a, %m0 = gpu.alloc async [%m] () : memref<8xf32>
  %b, %m1 = gpu.alloc async [%m0] () : memref<8xf32>
  %c, %m2 = gpu.alloc async [%m1] () : memref<8xf32>
  gpu.wait [%m2]

  %t = gpu.wait async
  %d, %t0 = gpu.alloc async [%t] () : memref<8xf32>
  %t1 = gpu.memset async [%t0] %d, %two : memref<8xf32>, f32
  %t2 = gpu.memcpy async [%t1] %c, %d : memref<8xf32>, memref<8xf32>
  %t3 = gpu.dealloc async [%t2] %d : memref<8xf32>
  gpu.wait [%t3]

  %u = gpu.wait async
  %u0 = gpu.memcpy async [%u] %output, %c : memref<8xf32>, memref<8xf32>
  gpu.wait [%u0]
  %x = memref.load %output[%c0] : memref<8xf32>
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()
  %v = gpu.wait async
  %v0 = gpu.dealloc async [%v] %a : memref<8xf32>
  %v1 = gpu.dealloc async [%v0] %b : memref<8xf32>
  %v2 = gpu.dealloc async [%v1] %c : memref<8xf32>
  gpu.wait [%v2]
  gpu.host_unregister %registered : memref<*xf32>
  memref.dealloc %output : memref<8xf32>
  return
}
