// Two blocks of four threads put eight numbers into a buffer, backward within each block by way of workgroup memory.
module attributes {gpu.container_module} {
  gpu.module @kernels [#gpux.sim_target] {
    gpu.func @backward(%x: memref<8xi32>, %first: i32) workgroup(%tile: memref<4xi32, #gpu.address_space<workgroup>>) kernel {
      %c3 = arith.constant 3 : index
      %thread = gpu.thread_id x
      %i = gpu.global_id x
      %number = arith.index_cast %i : index to i32
      %mine = arith.addi %number, %first : i32
      %other = arith.subi %c3, %thread : index
      memref.store %mine, %tile[%thread] : memref<4xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %its = memref.load %tile[%other] : memref<4xi32, #gpu.address_space<workgroup>>
      memref.store %its, %x[%i] : memref<8xi32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %ten = arith.constant 10 : i32
    %host = memref.alloc() : memref<8xi32>
    %start = gpu.wait async
    %x, %there = gpu.alloc async [%start] () : memref<8xi32>
    %ran = gpu.launch_func async [%there] @kernels::@backward blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<8xi32>, %ten : i32)
    %copied = gpu.memcpy async [%ran] %host, %x : memref<8xi32>, memref<8xi32>
    gpu.wait [%copied]
    %end = gpu.wait async
    %freed = gpu.dealloc async [%end] %x : memref<8xi32>
    gpu.wait [%freed]
    %all = memref.cast %host : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%all) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<8xi32>
    return
  }
}
