// Our dialect, for upstream's runtime.
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

async.func @square(%x: f32) -> (f32, !async.token) {
  %t, %v = async.region -> (f32) {
    %y = arith.mulf %x, %x : f32
    async.yield %y : f32
  }
  async.yield %v, %t : f32, !async.token
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %m = memref.alloc() : memref<4xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<4xf32>)
  // Two tasks, one after both, and a nested one that delays its parent.
  %t0, %v0 = async.region -> (f32) {
    %x = arith.constant 1.5 : f32
    async.yield %x : f32
  }
  %v1, %t1 = async.call @square(%three) : (f32) -> (f32, !async.token)
  %j = async.join %t0, %t1
  %t2, %v2 = async.region [%j] -> (f32) {
    %s = arith.addf %v0, %v1 : f32
    %inner = async.region {
      memref.store %s, %m[%c0] : memref<4xf32>
      async.yield
    }
    async.yield %s, %inner : f32, !async.token
  }
  %t3 = async.region {
    async.await %t2
    %x = memref.load %m[%c0] : memref<4xf32>
    %y = arith.addf %x, %v2 : f32
    memref.store %y, %m[%c1] : memref<4xf32>
    async.yield
  }
  %ready = async.ready
  async.await %t3, %ready
  memref.store %v0, %m[%c2] : memref<4xf32>
  memref.store %v1, %m[%c3] : memref<4xf32>
  %u = memref.cast %m : memref<4xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %m : memref<4xf32>
  return
}
