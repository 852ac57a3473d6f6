// Upstream's dialect: values, groups in loops, nested tasks, functions.
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

async.func @allocate(%x: f32) -> !async.value<memref<f32>> {
  %m = memref.alloc() : memref<f32>
  memref.store %x, %m[] : memref<f32>
  return %m : memref<f32>
}

async.func @double(%f: !async.value<memref<f32>>) -> !async.token {
  %m = async.await %f : !async.value<memref<f32>>
  %x = memref.load %m[] : memref<f32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %m[] : memref<f32>
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0.0 : f32
  %ten = arith.constant 10.0 : f32
  %m = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<8xf32>)
  %u = memref.cast %m : memref<8xf32> to memref<*xf32>

  %g = async.create_group %c3 : !async.group
  %t0 = async.execute {
    memref.store %ten, %m[%c0] : memref<8xf32>
    async.yield
  }
  %t1, %f1 = async.execute [%t0] -> !async.value<f32> {
    %inner, %f = async.execute -> !async.value<f32> {
      %x = memref.load %m[%c0] : memref<8xf32>
      async.yield %x : f32
    }
    %x = async.await %f : !async.value<f32>
    %y = arith.addf %x, %x : f32
    async.yield %y : f32
  }
  %t2 = async.execute (%f1 as %x : !async.value<f32>) {
    memref.store %x, %m[%c1] : memref<8xf32>
    async.yield
  }
  %r0 = async.add_to_group %t0, %g : !async.token
  %r1 = async.add_to_group %t1, %g : !async.token
  %r2 = async.add_to_group %t2, %g : !async.token
  async.await_all %g
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()

  %f = async.call @allocate(%ten) : (f32) -> !async.value<memref<f32>>
  %t = async.call @double(%f) : (!async.value<memref<f32>>) -> !async.token
  async.await %t : !async.token
  %b = async.await %f : !async.value<memref<f32>>
  %y = memref.load %b[] : memref<f32>
  memref.store %y, %m[%c7] : memref<8xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %b : memref<f32>
  memref.dealloc %m : memref<8xf32>
  return
}
