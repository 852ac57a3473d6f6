// A parallel loop, which `--async-parallel-for` makes tasks of.
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = memref.alloc() : memref<64xi32>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %x = arith.index_cast %i : index to i32
    memref.store %x, %m[%i] : memref<64xi32>
    scf.reduce
  }
  %u = memref.cast %m : memref<64xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %m : memref<64xi32>
  return
}
