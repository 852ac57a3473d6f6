// ptxas takes 48 KB of static workgroup memory; no block has more than its GPU.

// RUN: async-opt %s --gpux-to-nvvm --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

gpu.module @as_much_as_there_is {
  gpu.func @k() workgroup(%a: memref<12288xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @more {
  // expected-note @+1 {{32768 bytes: global @tile}}
  memref.global @tile : memref<8192xf32, 3> = uninitialized
  // expected-warning @+2 {{has 65536 bytes of static workgroup memory, and ptxas takes at most 49152: run --gpux-pack-workgroup-memory first, which makes it dynamic}}
  // expected-note @+1 {{32768 bytes: workgroup attribution 0}}
  gpu.func @k(%i: index) workgroup(%a: memref<8192xf32, #gpu.address_space<workgroup>>) kernel {
    // Once, however often it is asked for.
    %b = memref.get_global @tile : memref<8192xf32, 3>
    %c = memref.get_global @tile : memref<8192xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @mbarriers_count {
  // expected-warning @+2 {{has 49160 bytes of static workgroup memory}}
  // expected-note @+1 {{49152 bytes: workgroup attribution 0}}
  gpu.func @k() workgroup(%a: memref<12288xf32, 3>) kernel {
    // expected-note @+1 {{8 bytes: mbarriers}}
    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @never {
  // expected-error @+2 {{needs 409600 bytes of workgroup memory, but a block has at most 232448 on any GPU}}
  // expected-note @+1 {{409600 bytes: workgroup attribution 0}}
  gpu.func @k() workgroup(%a: memref<102400xf32, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @on_this_gpu [#nvvm.target<chip = "sm_86">] {
  // expected-error @+2 {{needs 131072 bytes of workgroup memory, but a block has at most 101376 on sm_86}}
  // expected-note @+1 {{131072 bytes: workgroup attribution 0}}
  gpu.func @k() workgroup(%a: memref<32768xf32, 3>) kernel {
    gpu.return
  }
}

// -----

// Packed, it is dynamic.
gpu.module @dynamic {
  gpu.func @k() kernel {
    %a = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
