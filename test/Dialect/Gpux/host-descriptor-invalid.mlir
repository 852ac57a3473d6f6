// Upstream's lowering of descriptors takes elements that it has no code for to be others.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-lower-launches

!bytes = !nvgpu.tensormap.descriptor<tensor = memref<16x64xi8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @signless_bytes(%a: memref<*xi8>, %n: index) -> !bytes {
  // expected-error @+1 {{makes a descriptor of elements of type i8, for which upstream's lowering has no code}}
  %x = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xi8> -> !bytes
  return %x : !bytes
}

// -----

!bytes = !nvgpu.tensormap.descriptor<tensor = memref<16x64xui8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @unsigned_bytes(%a: memref<*xui8>, %n: index) -> !bytes {
  %x = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xui8> -> !bytes
  return %x : !bytes
}
