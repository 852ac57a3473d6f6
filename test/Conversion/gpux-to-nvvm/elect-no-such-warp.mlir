// A warp that the block does not have elects nobody.
//
// RUN: async-opt %s --gpux-to-nvvm --verify-diagnostics

gpu.module @kernels {
  // expected-note @+1 {{known_block_size is here}}
  gpu.func @beyond() kernel attributes {known_block_size = array<i32: 64, 2, 1>} {
    // The last one it has.
    %a = gpux.elect {warp = 3 : i32}
    // expected-error @+1 {{'gpux.elect' op elects a thread of warp 4, but the block has 4, which are counted from 0}}
    %b = gpux.elect {warp = 4 : i32}
    gpu.return
  }
}
