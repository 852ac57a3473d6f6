// An await of a token that is selected may be of another one. What comes after it stays there all the same.
//
// RUN: async-opt %s --verify-diagnostics --async-pipeline=insert-barriers=false -o /dev/null

!tile = memref<32xi32, #gpu.address_space<workgroup>>

func.func @before_the_selected_one(%in: memref<?xi32>, %out: memref<?xi32>, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = memref.alloc() : !tile
  scf.for %i = %c0 to %n step %c1 {
    // expected-note @below {{what comes first}}
    %token = gpux.copy async %in[%i], %tile[%c0], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !tile
    %selected = arith.select %p, %token, %token {async.stage = 0, async.order = 1} : !async.token
    async.await %selected {async.stage = 1, async.order = 3}
    // expected-error @below {{may access the same memory, but the schedule executes this one first}}
    %y = memref.load %tile[%c0] {async.stage = 0, async.order = 2} : !tile
    memref.store %y, %out[%i] {async.stage = 1, async.order = 4} : memref<?xi32>
    async.await %token {async.stage = 1, async.order = 5}
  }
  return
}
