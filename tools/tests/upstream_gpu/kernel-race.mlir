// Without a barrier, threads read what others may not have written yet. And two kernels in two streams write the same numbers.
module attributes {gpu.container_module} {
  gpu.module @kernels [#gpux.sim_target] {
    gpu.func @no_barrier(%x: memref<4xi32>) workgroup(%tile: memref<4xi32, #gpu.address_space<workgroup>>) kernel {
      %c3 = arith.constant 3 : index
      %i = gpu.thread_id x
      %number = arith.index_cast %i : index to i32
      %other = arith.subi %c3, %i : index
      memref.store %number, %tile[%i] : memref<4xi32, #gpu.address_space<workgroup>>
      %its = memref.load %tile[%other] : memref<4xi32, #gpu.address_space<workgroup>>
      memref.store %its, %x[%i] : memref<4xi32>
      gpu.return
    }
    gpu.func @fill(%x: memref<4xi32>, %value: i32) kernel {
      %i = gpu.thread_id x
      memref.store %value, %x[%i] : memref<4xi32>
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %start = gpu.wait async
    %x, %there = gpu.alloc async [%start] () : memref<4xi32>
    %k0 = gpu.launch_func async [%there] @kernels::@no_barrier blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<4xi32>)
    gpu.wait [%k0]
    %s0 = gpu.wait async
    %s1 = gpu.wait async
    %k1 = gpu.launch_func async [%s0] @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<4xi32>, %one : i32)
    %k2 = gpu.launch_func async [%s1] @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<4xi32>, %two : i32)
    gpu.wait [%k1]
    gpu.wait [%k2]
    %end = gpu.wait async
    %freed = gpu.dealloc async [%end] %x : memref<4xi32>
    gpu.wait [%freed]
    return
  }
}
