// Two kernels in two streams, each of which waits until the other one has added its numbers: they end because they run at a time.
module attributes {gpu.container_module} {
  gpu.module @kernels [#gpux.sim_target] {
    // Raises the number from %mine to %mine + 1 when it is there, four times.
    gpu.func @take_turns(%number: memref<i32>, %mine: i32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      scf.for %i = %c0 to %c4 step %c1 iter_args(%turn = %mine) -> i32 {
        scf.while : () -> () {
          %now = memref.atomic_rmw addi %zero, %number[] : (i32, memref<i32>) -> i32
          %waits = arith.cmpi slt, %now, %turn : i32
          scf.condition(%waits)
        } do {
          scf.yield
        }
        memref.atomic_rmw addi %one, %number[] : (i32, memref<i32>) -> i32
        %next = arith.addi %turn, %two : i32
        scf.yield %next : i32
      }
      gpu.return
    }
  }

  func.func private @printI64(i64)
  func.func private @printNewline()
  func.func @main() {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %host = memref.alloc() : memref<i32>
    %start = gpu.wait async
    %number, %there = gpu.alloc async [%start] () : memref<i32>
    %clear = gpu.memset async [%there] %number, %zero : memref<i32>, i32
    gpu.wait [%clear]
    %s0 = gpu.wait async
    %s1 = gpu.wait async
    %k0 = gpu.launch_func async [%s0] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %one : i32)
    %k1 = gpu.launch_func async [%s1] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %zero : i32)
    gpu.wait [%k0]
    gpu.wait [%k1]
    %last = gpu.wait async
    %copied = gpu.memcpy async [%last] %host, %number : memref<i32>, memref<i32>
    gpu.wait [%copied]
    %end = gpu.wait async
    %freed = gpu.dealloc async [%end] %number : memref<i32>
    gpu.wait [%freed]
    %result = memref.load %host[] : memref<i32>
    %printed = arith.extsi %result : i32 to i64
    call @printI64(%printed) : (i64) -> ()
    call @printNewline() : () -> ()
    memref.dealloc %host : memref<i32>
    return
  }
}
