// What is allocated in a scope ends with it.
//
// RUN: async-sim %s --kernel=loop --arg 0=zero --print | FileCheck %s --check-prefix=LOOP
// RUN: not async-sim %s --kernel=escapes | FileCheck %s --check-prefix=ESCAPES
// RUN: async-sim %s --kernel=not_reached | FileCheck %s --check-prefix=NOT-REACHED

// Each iteration has 320 MB of its own, one after the other.
// LOOP: loop: clean
// LOOP: argument 0: 0 1 2 3
func.func @loop(%out: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    memref.alloca_scope {
      %a = memref.alloca() : memref<40000000xindex>
      memref.store %i, %a[%i] : memref<40000000xindex>
      %x = memref.load %a[%i] : memref<40000000xindex>
      memref.store %x, %out[%i] : memref<4xindex>
    }
  }
  return
}

// ESCAPES: error: memref.load: a private buffer was deallocated before
func.func @escapes(%x: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloca_scope -> (memref<1xf32>) {
    %a = memref.alloca() : memref<1xf32>
    memref.store %x, %a[%c0] : memref<1xf32>
    memref.alloca_scope.return %a : memref<1xf32>
  }
  %y = memref.load %a[%c0] : memref<1xf32>
  return
}

// NOT-REACHED: not_reached: clean
func.func @not_reached(%condition: i1) {
  memref.alloca_scope {
    scf.if %condition {
      %a = memref.alloca() : memref<1xf32>
    }
  }
  return
}
