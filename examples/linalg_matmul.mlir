// C = A * B + C, from linalg.matmul to the tensor cores of sm_80: fp16 in, fp32 accumulation and out. What is written is a product of
// matrices, and a script of upstream's transforms and one of ours that says how it is to be computed.
//
//   async-opt linalg_matmul.mlir --transform-interpreter --gpu-kernel-outlining --transform-interpreter=entry-point=pipeline --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx
//   async-opt linalg_matmul.mlir --transform-interpreter --gpu-kernel-outlining --transform-interpreter=entry-point=pipeline | async-sim
//
// The first part of the script tiles, copies, maps to blocks and threads, and vectorizes. What it leaves is the plain loop: copy a
// tile of A and of B, meet, multiply, meet. It is in a gpu.launch; block barriers are placed in functions, so it is outlined. The
// second part is `transform.async.pipeline`: asynchronous copies of 16 bytes, four stages, barriers derived anew.
//
// Waits, in program order: 2 in each k-step, then 2, 1 and 0. One block barrier a k-step. Three tiles are in flight while one is
// computed; 32 KiB of workgroup memory.
//
// Shape: a block of 128 threads (4 warps, 2x2, each 32x32) computes 64x64 of C in k-steps of 32. For other sizes, change the types: M
// and N multiples of 64, K a multiple of 32. Rows are to begin at multiples of 16 bytes.
//
// Where upstream's transforms lead elsewhere, so that others were chosen (each as LLVM 22.1 does it):
// - `structured.promote` with a mapping allocates at the start of the function, outside of what becomes the launch, and puts barriers
//   around each copy; with a memory space, it allocates where it stands.
// - `structured.gpu.map_copy_to_threads` is for tensors (it crashes on copies of memrefs); tiling by threads does the same.
// - `nvgpu.create_async_groups` makes one copy of each vector, and no vector has two rows; `async.pipeline` makes the copies itself.
// - `nvgpu.rewrite_matmul_as_mma_sync` has no fp32 sums of fp16 products, and loads and stores the sums in each k-step; the conversion
//   of vectors to nvgpu leaves them in registers, and loads fragments by ldmatrix.
// - The sums leave the innermost loop before it is unrolled, and that over k-steps later: `hoist_redundant_vector_transfers` leaves parts
//   of C in a loop that loads and stores them twice.

module attributes {transform.with_named_sequence} {
  func.func @matmul(%A: memref<128x256xf16>, %B: memref<256x128xf16>, %C: memref<128x128xf32>) {
    linalg.matmul ins(%A, %B : memref<128x256xf16>, memref<256x128xf16>) outs(%C : memref<128x128xf32>)
    return
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    // A block computes 64x64 of C, in k-steps of 32.
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %blocks = transform.structured.tile_using_forall %matmul tile_sizes [64, 64] (mapping = [#gpu.block<y>, #gpu.block<x>])
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %k_loop = transform.structured.tile_using_for %tile tile_sizes [0, 0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // The tiles of A and B are copied to workgroup memory; each thread copies two rows of 16 bytes of either.
    %promoted = transform.structured.promote %step {operands_to_promote = [0, 1], memory_space = #gpu.address_space<workgroup>}
        : (!transform.any_op) -> !transform.any_op
    %copies = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    %copy_a, %copy_b = transform.split_handle %copies : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.tile_using_forall %copy_a num_threads [32, 4]
        (mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>])
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.tile_using_forall %copy_b num_threads [16, 8]
        (mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>])
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // A warp multiplies 32x32 of that, by products of 16x8x16.
    %of_warp, %warps = transform.structured.tile_using_forall %promoted num_threads [2, 2]
        (mapping = [#gpu.warp<linear_dim_1>, #gpu.warp<linear_dim_0>])
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.tile_using_for %of_warp tile_sizes [16, 8, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)

    // Blocks and threads.
    %host = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %launch = transform.gpu.map_forall_to_blocks %host generate_gpu_launch : (!transform.any_op) -> !transform.any_op
    transform.gpu.map_nested_forall_to_threads %launch block_dims = [128, 1, 1] : (!transform.any_op) -> !transform.any_op

    // Vectors: the copies, and the products, of which the sums leave first the innermost loop, then, once all others are
    // unrolled, that over k-steps.
    %scalar = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %vectors = transform.structured.vectorize_children_and_apply_patterns %scalar : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %vectors {
      transform.apply_patterns.memref.fold_memref_alias_ops
      transform.apply_patterns.vector.fold_arith_extension
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    %nest = transform.structured.match ops{["scf.for"]} in %vectors : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %nest : !transform.any_op
    %hoisted = transform.structured.hoist_redundant_vector_transfers %vectors : (!transform.any_op) -> !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %hoisted : (!transform.any_op) -> !transform.any_op
    %in_k, %in_n, %in_m, %k = transform.split_handle %loops
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.unroll %in_k {factor = 2} : !transform.any_op
    transform.loop.unroll %in_n {factor = 4} : !transform.any_op
    transform.loop.unroll %in_m {factor = 2} : !transform.any_op
    transform.apply_patterns to %hoisted {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    transform.apply_licm to %k : !transform.any_op
    %sums = transform.structured.hoist_redundant_vector_transfers %hoisted : (!transform.any_op) -> !transform.any_op

    // Tensor cores: ldmatrix and mma.sync.
    %mma = transform.apply_registered_pass "convert-vector-to-gpu" with options = {"use-nvgpu" = true} to %sums
        : (!transform.any_op) -> !transform.any_op
    transform.apply_registered_pass "gpu-launch-sink-index-computations" to %mma : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  transform.named_sequence @pipeline(%root: !transform.any_op) {
    %kernel = transform.structured.match ops{["gpu.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %arith = transform.apply_registered_pass "lower-affine" to %kernel : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %arith {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    %k = transform.structured.match ops{["scf.for"]} in %arith : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %k {num_stages = 4} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
