// A task launches a kernel and returns its token (https://github.com/llvm/llvm-project/issues/170833).
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @empty() kernel {
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %t, %value = async.execute -> !async.value<!gpu.async.token> {
      %w = gpu.wait async
      %l = gpu.launch_func async [%w] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      async.yield %l : !gpu.async.token
    }
    %l = async.await %value : !async.value<!gpu.async.token>
    gpu.wait [%l]
    return
  }
}
