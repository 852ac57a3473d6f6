// A copy to shared memory, and a read of it, in a host whose dialect `async` is upstream's.
gpu.module @kernels {
  memref.global "private" @tile : memref<32xf32, #gpu.address_space<workgroup>> {alignment = 16}

  gpu.func @scale(%source: memref<32xf32>, %result: memref<32xf32>) kernel {
    %tile = memref.get_global @tile : memref<32xf32, #gpu.address_space<workgroup>>
    %i = gpu.thread_id x
    %copy = gpux.copy async %source[%i], %tile[%i], 1 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    async.await %copy : !async.token
    %x = memref.load %tile[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %x, %result[%i] : memref<32xf32>
    gpu.return
  }
}
