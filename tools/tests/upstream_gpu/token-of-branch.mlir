// What a copy has to come after depends on a condition.
func.func private @printF32(f32)
func.func private @printNewline()

func.func @run(%copies: i1) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %input = memref.alloc() : memref<1xf32>
  %output = memref.alloc() : memref<1xf32>
  memref.store %one, %input[%c0] : memref<1xf32>
  %registered = memref.cast %output : memref<1xf32> to memref<*xf32>
  gpu.host_register %registered : memref<*xf32>

  %t = gpu.wait async
  %device, %t0 = gpu.alloc async [%t] () : memref<1xf32>
  %two = arith.constant 2.0 : f32
  %t1 = gpu.memset async [%t0] %device, %two : memref<1xf32>, f32
  %t2 = scf.if %copies -> (!gpu.async.token) {
    %after = gpu.memcpy async [%t1] %device, %input : memref<1xf32>, memref<1xf32>
    scf.yield %after : !gpu.async.token
  } else {
    scf.yield %t1 : !gpu.async.token
  }
  gpu.wait [%t2]
  %u = gpu.wait async
  %u0 = gpu.memcpy async [%u] %output, %device : memref<1xf32>, memref<1xf32>
  %u1 = gpu.dealloc async [%u0] %device : memref<1xf32>
  gpu.wait [%u1]

  %x = memref.load %output[%c0] : memref<1xf32>
  call @printF32(%x) : (f32) -> ()
  call @printNewline() : () -> ()
  gpu.host_unregister %registered : memref<*xf32>
  memref.dealloc %input : memref<1xf32>
  memref.dealloc %output : memref<1xf32>
  return
}

func.func @main() {
  %true = arith.constant true
  call @run(%true) : (i1) -> ()
  return
}
