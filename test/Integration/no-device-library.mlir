// Without CUDA's device library, what takes it is refused where it stands, and the folders that lack it are named. (That
// the pipeline says which they are is a test of the tools: tools/tests/toolkit.rs.)
//
// RUN: async-opt %s --pass-pipeline="builtin.module(gpu.module(convert-gpu-to-nvvm,link-device-code{libdevice=false searched={/usr/local/cuda, /opt/cuda}}))" --verify-diagnostics

gpu.module @device_library {
  gpu.func @kernel(%x: f32, %y: f32, %a: !llvm.ptr) kernel {
    // An instruction takes no library.
    %root = math.sqrt %x : f32
    // expected-error @+1 {{needs __nv_expf of CUDA's device library, which is not linked: give toolkit=<folder>, a CUDA toolkit with nvvm/libdevice/libdevice.10.bc in it, set CUDA_HOME, or add ptxas of such a toolkit to the PATH (there is none in /usr/local/cuda, /opt/cuda); the Python package nvidia-cuda-nvcc-cu12 has both}}
    %z = math.exp %root : f32
    llvm.store %z, %a : f32, !llvm.ptr
    gpu.return
  }
}
