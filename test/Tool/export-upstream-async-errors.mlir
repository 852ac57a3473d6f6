// What can't be exported is said at the operation.

// RUN: split-file %s %t.dir

// RUN: not async-translate --export-upstream-async %t.dir/await.mlir 2>&1 | FileCheck %s --check-prefix=AWAIT
// AWAIT: await.mlir:2:3: error: 'async.await' op can't be exported: a function of upstream's dialect returns to its caller here, and ours does not
// AWAIT: note: put this and what comes after it into an async.region, or make the function a func.func

// RUN: not async-translate --export-upstream-async %t.dir/tokens.mlir 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: tokens.mlir:1:1: error: 'async.func' op returns a token that is not its last result

// RUN: not async-translate --export-upstream-async %t.dir/gpux.mlir 2>&1 | FileCheck %s --check-prefix=GPUX
// GPUX: gpux.mlir:2:12: error: 'gpux.alloc' op can't be exported: upstream has no such operation

//--- await.mlir
async.func @f(%t: !async.token) {
  async.await %t
  async.yield
}
//--- tokens.mlir
async.func @f(%t: !async.token, %x: f32) -> (!async.token, f32) {
  async.yield %t, %x : !async.token, f32
}
//--- gpux.mlir
func.func @f() -> !async.token {
  %m, %t = gpux.alloc async () : memref<8xf32, #gpu.address_space<global>>
  return %t : !async.token
}
