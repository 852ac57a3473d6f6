// The second program of the MLIR RFC runs: the first one on buffers.

// RUN: async-opt run %s --threads=1 | FileCheck %s
// RUN: async-opt run %s --threads=8 | FileCheck %s

// CHECK: sizes = [2, 2]
// CHECK-NEXT: [23, 42],
// CHECK-NEXT: [50, 96]

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

memref.global "private" constant @a : memref<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>
memref.global "private" constant @b : memref<3x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]>
memref.global "private" constant @c : memref<3x2xf32> = dense<[[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]>
memref.global "private" constant @bias : memref<2xf32> = dense<[1.0, 0.0]>

async.func @f(%arg0: memref<2x3xf32>, %arg1: memref<3x2xf32>, %arg2: memref<3x2xf32>, %arg3: memref<2xf32>) -> (memref<2x2xf32>, !async.token) {
  %zero = arith.constant 0.0 : f32
  %t0, %v0 = async.region -> (memref<2x2xf32>) {
    %m = memref.alloc() : memref<2x2xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<2x2xf32>)
    linalg.matmul ins(%arg0, %arg1 : memref<2x3xf32>, memref<3x2xf32>) outs(%m : memref<2x2xf32>)
    async.yield %m : memref<2x2xf32>
  }
  %t1, %v1 = async.region -> (memref<2x2xf32>) {
    %m = memref.alloc() : memref<2x2xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<2x2xf32>)
    linalg.matmul ins(%arg0, %arg2 : memref<2x3xf32>, memref<3x2xf32>) outs(%m : memref<2x2xf32>)
    async.yield %m : memref<2x2xf32>
  }
  %t2, %v2 = async.region [%t0, %t1] -> (memref<2x2xf32>) {
    %m = memref.alloc() : memref<2x2xf32>
    linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : memref<2x2xf32>, memref<2x2xf32>, memref<2xf32>) outs(%m : memref<2x2xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %x = arith.addf %a, %b : f32
      %y = arith.addf %x, %c : f32
      linalg.yield %y : f32
    }
    memref.dealloc %v0 : memref<2x2xf32>
    memref.dealloc %v1 : memref<2x2xf32>
    async.yield %m : memref<2x2xf32>
  }
  async.yield %v2, %t2 : memref<2x2xf32>, !async.token
}

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %a = memref.get_global @a : memref<2x3xf32>
  %b = memref.get_global @b : memref<3x2xf32>
  %c = memref.get_global @c : memref<3x2xf32>
  %bias = memref.get_global @bias : memref<2xf32>
  %r, %t = async.call @f(%a, %b, %c, %bias) : (memref<2x3xf32>, memref<3x2xf32>, memref<3x2xf32>, memref<2xf32>) -> (memref<2x2xf32>, !async.token)
  async.await %t
  %u = memref.cast %r : memref<2x2xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %r : memref<2x2xf32>
  return
}
