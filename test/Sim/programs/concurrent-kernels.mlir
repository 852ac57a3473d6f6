// Each of two kernels waits for the other one. They end where nothing orders them, and not on one stream.

// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --schedule=early | FileCheck %s
// RUN: async-sim %s --schedule=random --runs=3 | FileCheck %s
// RUN: not async-sim %s --entry=on_one_stream --gpu-tokens=stream --budget=300000 | FileCheck %s --check-prefix=STREAM

module attributes {gpu.container_module} {
  gpu.module @kernels {
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

  // CHECK: 8
  // CHECK-NEXT: main: clean
  func.func @main() {
    %number = gpu.alloc host_shared () : memref<i32>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c1 = arith.constant 1 : index
    memref.store %zero, %number[] : memref<i32>
    %s0 = gpu.wait async
    %s1 = gpu.wait async
    %t0 = gpu.launch_func async [%s0] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %one : i32)
    %t1 = gpu.launch_func async [%s1] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %zero : i32)
    gpu.wait [%t0, %t1]
    %last = memref.load %number[] : memref<i32>
    vector.print %last : i32
    gpu.dealloc %number : memref<i32>
    return
  }

  // STREAM: error: {{.*}}the thread has run longer than its budget allows
  func.func @on_one_stream() {
    %number = gpu.alloc host_shared () : memref<i32>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c1 = arith.constant 1 : index
    memref.store %zero, %number[] : memref<i32>
    %s0 = gpu.wait async
    %t0 = gpu.launch_func async [%s0] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %one : i32)
    %t1 = gpu.launch_func async [%s0] @kernels::@take_turns blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%number : memref<i32>, %zero : i32)
    gpu.wait [%t0, %t1]
    return
  }
}
