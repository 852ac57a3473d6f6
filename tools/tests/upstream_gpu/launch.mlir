// A launch whose body is in place, on memory of the host that both may use.
module attributes {gpu.container_module} {
  func.func private @printI64(i64)
  func.func private @printNewline()
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %x = memref.alloc() : memref<4xindex>
    %any = memref.cast %x : memref<4xindex> to memref<*xindex>
    gpu.host_register %any : memref<*xindex>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
        threads(%i, %ty, %tz) in (%nx = %c4, %ny = %c1, %nz = %c1) {
      %number = affine.apply affine_map<(d0) -> (d0 * 10)>(%i)
      memref.store %number, %x[%i] : memref<4xindex>
      gpu.terminator
    }
    gpu.host_unregister %any : memref<*xindex>
    scf.for %i = %c0 to %c4 step %c1 {
      %number = memref.load %x[%i] : memref<4xindex>
      %wide = arith.index_cast %number : index to i64
      func.call @printI64(%wide) : (i64) -> ()
      func.call @printNewline() : () -> ()
    }
    memref.dealloc %x : memref<4xindex>
    return
  }
}
