// A token that a loop carries.
func.func private @printI64(i64)
func.func private @printNewline()

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %m = memref.alloc() : memref<i64>
  memref.store %zero, %m[] : memref<i64>
  %first = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (!async.token) {
    %t = async.execute [%before] {
      %x = memref.load %m[] : memref<i64>
      %y = arith.addi %x, %one : i64
      memref.store %y, %m[] : memref<i64>
      async.yield
    }
    scf.yield %t : !async.token
  }
  async.await %last : !async.token
  %x = memref.load %m[] : memref<i64>
  call @printI64(%x) : (i64) -> ()
  call @printNewline() : () -> ()
  memref.dealloc %m : memref<i64>
  return
}
