// Eight numbers on a device, to each of which a kernel adds one: with a stand-in for the CUDA driver (tools/tests/run.rs), and on a GPU
// (bench/gpu/programs.py).

!device = memref<8xi32, #gpu.address_space<global>>
gpu.module @m {
  gpu.func @add_one(%m: !device) kernel {
    %one = arith.constant 1 : i32
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %d = gpu.block_dim x
    %base = arith.muli %b, %d : index
    %i = arith.addi %base, %t : index
    %x = memref.load %m[%i] : !device
    %y = arith.addi %x, %one : i32
    memref.store %y, %m[%i] : !device
    gpu.return
  }
}
func.func private @printMemrefI32(memref<*xi32>)
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %seven = arith.constant 7 : i32
  %h = memref.alloc() : memref<8xi32>
  %m, %t0 = gpux.alloc async () : !device
  %t1 = gpux.memset async [%t0] %seven, %m : !device
  %t2 = gpux.async_launch async [%t1] @m::@add_one blocks (%c2, %c1, %c1) threads (%c4, %c1, %c1) args(%m : !device)
  %t3 = gpux.transfer async [%t2] %m, %h : !device to memref<8xi32>
  %t4 = gpux.dealloc async [%t3] %m : !device
  async.await %t3, %t4
  %u = memref.cast %h : memref<8xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<8xi32>
  return
}
