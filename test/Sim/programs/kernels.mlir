// The host fills a buffer, two kernels work on it, and the host prints it: all of the program runs, as main does.

// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --schedule=early | FileCheck %s
// RUN: async-sim %s --schedule=random --runs=4 | FileCheck %s --check-prefix=VALUES
// RUN: async-sim %s --entry=main | FileCheck %s

// VALUES: [15,  35]

// CHECK: rank = 1 offset = 0 sizes = [2] strides = [1] data =
// CHECK-NEXT: [15, 35]
// CHECK-NEXT: sum: 50, end
// CHECK-NEXT: ( 1, -2 )
// CHECK-NEXT: main: clean (1 run
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %data = memref.alloc() : memref<2x5xf32>
  %sums = memref.alloc() : memref<2xf32>
  %all = memref.alloc() : memref<f32>
  %any_data = memref.cast %data : memref<2x5xf32> to memref<*xf32>
  %any_sums = memref.cast %sums : memref<2xf32> to memref<*xf32>
  %any_all = memref.cast %all : memref<f32> to memref<*xf32>
  gpu.host_register %any_data : memref<*xf32>
  gpu.host_register %any_sums : memref<*xf32>
  gpu.host_register %any_all : memref<*xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %row = arith.muli %i, %c2 : index
      %twice = arith.muli %row, %c2 : index
      %start = arith.addi %j, %c1 : index
      %number = arith.addi %twice, %start : index
      %int = arith.index_cast %number : index to i32
      %float = arith.sitofp %int : i32 to f32
      memref.store %float, %data[%i, %j] : memref<2x5xf32>
    }
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c5, %ny = %c1, %nz = %c1) {
    %number = memref.load %data[%bx, %tx] : memref<2x5xf32>
    %sum = gpu.all_reduce add %number uniform {} : (f32) -> (f32)
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      memref.store %sum, %sums[%bx] : memref<2xf32>
    }
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    %a = memref.load %sums[%c0] : memref<2xf32>
    %b = memref.load %sums[%c1] : memref<2xf32>
    %sum = arith.addf %a, %b : f32
    memref.store %sum, %all[] : memref<f32>
    gpu.terminator
  }
  call @printMemrefF32(%any_sums) : (memref<*xf32>) -> ()
  %sum = memref.load %all[] : memref<f32>
  vector.print str "sum: "
  vector.print %sum : f32 punctuation <comma>
  vector.print str "end"
  vector.print punctuation <newline>
  %vector = arith.constant dense<[1, -2]> : vector<2xi8>
  vector.print %vector : vector<2xi8>
  return
}
func.func private @printMemrefF32(memref<*xf32>)
