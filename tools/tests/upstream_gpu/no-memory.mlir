// The device has no such memory.
func.func private @printF32(f32)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %much = arith.constant 0x400000000000000 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %output = memref.alloc() : memref<1xf32>
  memref.store %zero, %output[%c0] : memref<1xf32>
  %t = gpu.wait async
  %device, %t0 = gpu.alloc async [%t] (%much) : memref<?xf32>
  %first = memref.subview %device[0] [1] [1] : memref<?xf32> to memref<1xf32>
  %t1 = gpu.memset async [%t0] %first, %one : memref<1xf32>, f32
  %t2 = gpu.memcpy async [%t1] %output, %first : memref<1xf32>, memref<1xf32>
  %t3 = gpu.dealloc async [%t2] %device : memref<?xf32>
  gpu.wait [%t3]
  %x = memref.load %output[%c0] : memref<1xf32>
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %output : memref<1xf32>
  return
}
