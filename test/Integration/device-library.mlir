// What takes CUDA's device library is linked from the toolkit that ptxas on the PATH is of, with nothing said of it.
//
// RUN: env -u CUDA_ROOT -u CUDA_HOME -u CUDA_PATH async-opt %s --gpux-lower-to-nvvm=chip=sm_80 | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx --check-prefix=PTX
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm 2>&1 | FileCheck %s

// Nothing of it is left for somebody else to link.
// PTX-NOT: __nv_
// PTX: .entry kernel(
// PTX: ex2.approx
// PTX: st.global.b32
// PTX: .entry kin(
// PTX-NOT: __nv_
// PTX: fma.rn.f64
// PTX-NOT: __nv_

// CHECK: llvm.call @__nv_expf
gpu.module @device_library {
  gpu.func @kernel(%a: memref<?xf32>, %i: index) kernel {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = math.exp %x : f32
    memref.store %y, %a[%i] : memref<?xf32>
    gpu.return
  }

  gpu.func @kin(%a: memref<?xf32>, %d: memref<?xf64>, %i: index) kernel {
    %x = memref.load %a[%i] : memref<?xf32>
    %log = math.log %x : f32
    %tanh = math.tanh %log : f32
    %sin = math.sin %tanh : f32
    %erf = math.erf %sin : f32
    %pow = math.powf %erf, %x : f32
    %half = arith.truncf %pow : f32 to f16
    %exp = math.exp2 %half : f16
    %y = arith.extf %exp : f16 to f32
    memref.store %y, %a[%i] : memref<?xf32>
    %z = memref.load %d[%i] : memref<?xf64>
    %wide = math.exp %z : f64
    memref.store %wide, %d[%i] : memref<?xf64>
    %v = vector.load %a[%i] : memref<?xf32>, vector<4xf32>
    %w = math.rsqrt %v : vector<4xf32>
    %u = math.exp %w : vector<4xf32>
    vector.store %u, %a[%i] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}
