// Without CUDA's device library, a call of it is refused, and the folders that lack it are named. (tools/tests/toolkit.rs tests
// that the pipeline says which folders they are.)
//
// RUN: async-opt %s --pass-pipeline="builtin.module(gpu.module(convert-gpu-to-nvvm,legalize-for-ptx{libdevice=false searched={/usr/local/cuda, /opt/cuda}}))" --verify-diagnostics

gpu.module @device_library {
  gpu.func @kernel(%x: f32, %y: f32, %a: !llvm.ptr) kernel {
    // An instruction takes no library.
    %root = math.sqrt %x : f32
    // expected-error @+2 {{'llvm.call' op needs __nv_expf of CUDA's device library, which is not linked}}
    // expected-note @+1 {{give toolkit=<folder>, a CUDA toolkit with nvvm/libdevice/libdevice.10.bc in it, set CUDA_HOME, or add the ptxas of such a toolkit to the PATH}}
    %z = math.exp %root : f32
    llvm.store %z, %a : f32, !llvm.ptr
    gpu.return
  }
}
