// A task that fails, and one after it.
func.func @main() {
  %false = arith.constant false
  %t = async.execute {
    cf.assert %false, "the first task fails"
    async.yield
  }
  %u = async.execute [%t] {
    async.yield
  }
  async.await %u : !async.token
  return
}
