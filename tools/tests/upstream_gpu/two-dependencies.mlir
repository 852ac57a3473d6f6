// A kernel comes after two others.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @empty() kernel {
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %t = gpu.wait async
    %t0 = gpu.launch_func async [%t] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %s = gpu.wait async
    %s0 = gpu.launch_func async [%s] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %j = gpu.launch_func async [%t0, %s0] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu.wait [%j]
    return
  }
}
