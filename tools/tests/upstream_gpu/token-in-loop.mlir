// Each of three copies comes after the one before: a loop carries the token.
func.func private @printF32(f32)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %input = memref.alloc() : memref<1xf32>
  %output = memref.alloc() : memref<1xf32>
  memref.store %one, %input[%c0] : memref<1xf32>
  memref.store %zero, %output[%c0] : memref<1xf32>
  %registered = memref.cast %output : memref<1xf32> to memref<*xf32>
  gpu.host_register %registered : memref<*xf32>

  %t = gpu.wait async
  %device, %t0 = gpu.alloc async [%t] () : memref<1xf32>
  %t1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%before = %t0) -> (!gpu.async.token) {
    %after = gpu.memcpy async [%before] %device, %input : memref<1xf32>, memref<1xf32>
    scf.yield %after : !gpu.async.token
  }
  %t2 = gpu.memcpy async [%t1] %output, %device : memref<1xf32>, memref<1xf32>
  %t3 = gpu.dealloc async [%t2] %device : memref<1xf32>
  gpu.wait [%t3]

  %x = memref.load %output[%c0] : memref<1xf32>
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()
  gpu.host_unregister %registered : memref<*xf32>
  memref.dealloc %input : memref<1xf32>
  memref.dealloc %output : memref<1xf32>
  return
}
