// Device code may use upstream's dialects, also what upstream's own pipeline stumbles over.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

!Tile = memref<16x16xf32, #gpu.address_space<workgroup>>

gpu.module @upstream_dialects {
  // CHECK-LABEL: .entry vectors(
  gpu.func @vectors(%a: memref<?x?xf32>, %i: index) workgroup(%tile: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<2x2xf32>
    %v = vector.transfer_read %tile[%i, %c0], %zero {in_bounds = [true, true]} : !Tile, vector<4x8xf32>
    %low = vector.extract_strided_slice %v {offsets = [0], sizes = [2], strides = [1]}
        : vector<4x8xf32> to vector<2x8xf32>
    %high = vector.extract_strided_slice %v {offsets = [2, 4], sizes = [2, 4], strides = [1, 1]}
        : vector<4x8xf32> to vector<2x4xf32>
    %wide = vector.insert_strided_slice %high, %low {offsets = [0, 2], strides = [1, 1]}
        : vector<2x4xf32> into vector<2x8xf32>
    %turned = vector.transpose %wide, [1, 0] : vector<2x8xf32> to vector<8x2xf32>
    %product = vector.contract {
        indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %low, %turned, %none : vector<2x8xf32>, vector<8x2xf32> into vector<2x2xf32>
    %sum = vector.multi_reduction <add>, %wide, %zero [0, 1] : vector<2x8xf32> to f32
    vector.transfer_write %product, %a[%i, %i] : vector<2x2xf32>, memref<?x?xf32>
    memref.store %sum, %a[%c0, %i] : memref<?x?xf32>
    gpu.return
  }

  // CHECK-LABEL: .entry loops(
  gpu.func @loops(%a: memref<?xf32>, %n: index) workgroup(%tile: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    affine.for %i = 0 to 8 {
      %x = affine.load %tile[%i, 2 * %i + 1] : !Tile
      affine.if affine_set<(d0) : (d0 - 2 >= 0)>(%i) {
        affine.store %x, %a[%i] : memref<?xf32>
      }
    }
    %end = scf.while (%i = %c0) : (index) -> index {
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^body(%i: index):
      %next = arith.addi %i, %c1 : index
      scf.yield %next : index
    }
    %odd = arith.remui %end, %n : index
    %is_odd = arith.cmpi eq, %odd, %c1 : index
    cf.cond_br %is_odd, ^yes, ^no
  ^yes:
    %x = memref.load %a[%c0] : memref<?xf32>
    %y = func.call @twice(%x) : (f32) -> f32
    memref.store %y, %a[%end] : memref<?xf32>
    gpu.return
  ^no:
    gpu.return
  }

  // Instructions, not calls of a library that a CUDA toolkit would have to bring.
  // CHECK-LABEL: .entry math(
  // CHECK-NOT: call
  // CHECK: fma.rn.f32
  // CHECK: sqrt.rn.f32
  // CHECK: abs.f32
  // CHECK-NOT: __nv_
  gpu.func @math(%a: memref<?xf32>, %i: index) kernel {
    %x = memref.load %a[%i] : memref<?xf32>
    %fma = math.fma %x, %x, %x : f32
    %root = math.sqrt %fma : f32
    %abs = math.absf %x : f32
    %sum = arith.addf %root, %abs : f32
    memref.store %sum, %a[%i] : memref<?xf32>
    gpu.return
  }

  func.func @twice(%x: f32) -> f32 {
    %y = arith.addf %x, %x : f32
    return %y : f32
  }
}
