// A task copies a result back and returns the buffer. Its value is awaited before it is read, its token afterwards.
func.func private @printF32(f32)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 42.0 : f32
  %input = memref.alloc() : memref<4xf32>
  %output = memref.alloc() : memref<4xf32>
  %registered = memref.cast %output : memref<4xf32> to memref<*xf32>
  gpu.host_register %registered : memref<*xf32>
  memref.store %one, %input[%c0] : memref<4xf32>
  memref.store %zero, %output[%c0] : memref<4xf32>

  %t = gpu.wait async
  %device, %t0 = gpu.alloc async [%t] () : memref<4xf32>
  %t1 = gpu.memcpy async [%t0] %device, %input : memref<4xf32>, memref<4xf32>
  gpu.wait [%t1]
  %token, %value = async.execute -> !async.value<memref<4xf32>> {
    gpu.memcpy %output, %device : memref<4xf32>, memref<4xf32>
    async.yield %output : memref<4xf32>
  }
  %result = async.await %value : !async.value<memref<4xf32>>
  %x = memref.load %result[%c0] : memref<4xf32>
  async.await %token : !async.token
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()

  %u = gpu.wait async
  %u0 = gpu.dealloc async [%u] %device : memref<4xf32>
  gpu.wait [%u0]
  gpu.host_unregister %registered : memref<*xf32>
  memref.dealloc %input : memref<4xf32>
  memref.dealloc %output : memref<4xf32>
  return
}
