// Tasks that call a function which awaits another task: more of them than workers.
func.func private @printI64(i64)
func.func private @printNewline()

func.func @inner(%m: memref<i64>) {
  %one = arith.constant 1 : i64
  %t = async.execute {
    %old = memref.atomic_rmw addi %one, %m[] : (i64, memref<i64>) -> i64
    async.yield
  }
  async.await %t : !async.token
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %zero = arith.constant 0 : i64
  %m = memref.alloc() : memref<i64>
  memref.store %zero, %m[] : memref<i64>
  %g = async.create_group %n : !async.group
  scf.for %i = %c0 to %n step %c1 {
    %t = async.execute {
      func.call @inner(%m) : (memref<i64>) -> ()
      async.yield
    }
    %rank = async.add_to_group %t, %g : !async.token
  }
  async.await_all %g
  %x = memref.load %m[] : memref<i64>
  call @printI64(%x) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %m : memref<i64>
  return
}
