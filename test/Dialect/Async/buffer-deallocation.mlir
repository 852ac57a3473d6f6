// RUN: async-opt %s --ownership-based-buffer-deallocation --verify-diagnostics

// Upstream's pass would free the buffer right after the task.
func.func @task_uses_buffer(%o: memref<4xf32>) -> !async.token {
  %m = memref.alloc() : memref<4xf32>
  // expected-error @below {{'async.region' op may use its buffers until its token is complete, which buffer deallocation does not know of: deallocate by hand, after the tokens of all tasks that use the buffer are awaited}}
  %t = async.region {
    memref.copy %m, %o : memref<4xf32> to memref<4xf32>
  }
  return %t : !async.token
}
