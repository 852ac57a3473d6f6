// A row of a tile with its halo is copied by a loop, as often as it takes.
!Image = memref<?x?xf32>
!Line = memref<640xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @stencil(%in: !Image, %weights: memref<?xf32>, %out: !Image) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %rows = memref.dim %out, %c0 : !Image
    %width = memref.dim %out, %c1 : !Image
    %staged = memref.dim %in, %c1 : !Image
    %taps = memref.dim %weights, %c0 : memref<?xf32>
    %line = memref.alloc() : !Line
    scf.for %y = %c0 to %rows step %c1 {
      scf.for %x = %t to %staged step %c128 {
        %copy = nvgpu.device_async_copy %in[%y, %x], %line[%x], 1 : !Image to !Line
      }
      %row = nvgpu.device_async_create_group {all}
      nvgpu.device_async_wait %row
      gpu.barrier
      scf.for %x = %t to %width step %c128 {
        %sum = scf.for %d = %c0 to %taps step %c1 iter_args(%before = %zero) -> (f32) {
          %at = arith.addi %x, %d : index
          %v = memref.load %line[%at] : !Line
          %w = memref.load %weights[%d] : memref<?xf32>
          %after = math.fma %w, %v, %before : f32
          scf.yield %after : f32
        }
        memref.store %sum, %out[%y, %x] : !Image
      }
      gpu.barrier
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
