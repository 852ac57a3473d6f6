// What the host can't hand to a kernel.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-lower-launches

// Upstream's lowering of descriptors takes elements that it can't encode for others.
!bytes = !nvgpu.tensormap.descriptor<tensor = memref<16x64xi8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @signless_bytes(%a: memref<*xi8>, %n: index) -> !bytes {
  // expected-error @+2 {{'nvgpu.tma.create.descriptor' op makes a descriptor of elements of type i8, which upstream's lowering can't encode}}
  // expected-note @+1 {{use ui8, ui16, ui32, ui64, i32, i64, f16, bf16, f32 or f64, or make the descriptor on the host with cuTensorMapEncodeTiled}}
  %x = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xi8> -> !bytes
  return %x : !bytes
}

// -----

!bytes = !nvgpu.tensormap.descriptor<tensor = memref<16x64xui8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @unsigned_bytes(%a: memref<*xui8>, %n: index) -> !bytes {
  %x = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xui8> -> !bytes
  return %x : !bytes
}

// -----

// The kernel has to be lowered first: here it still takes the descriptor itself.
!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @load(%map: !tile) kernel {
      gpu.return
    }
  }
  func.func @kernel_not_lowered(%x: !tile, %size: index) {
    // expected-error @+1 {{'gpu.launch_func' op type of function argument 0 does not match}}
    gpu.launch_func @kernels::@load blocks in (%size, %size, %size) threads in (%size, %size, %size)
        args(%x : !tile)
    return
  }
}
