// Matrices that a warp stores.
//
// RUN: async-sim %s --kernel=rows --arg 0=zero --print | FileCheck %s --check-prefix=ROWS
// RUN: async-sim %s --kernel=columns --arg 0=zero --print | FileCheck %s --check-prefix=COLUMNS
// RUN: not async-sim %s --kernel=no_barrier | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=same_rows | FileCheck %s --check-prefix=SAME
// RUN: not async-sim %s --kernel=outside | FileCheck %s --check-prefix=OUTSIDE
// RUN: not async-sim %s --kernel=bytes 2>&1 | FileCheck %s --check-prefix=BYTES

!shared = memref<16x8xi16, #gpu.address_space<workgroup>>

// A lane's two numbers of the first matrix are its place in it, row by row; those of the second one are 100 more.
func.func private @numbers(%lane: i32) -> (i32, i32) {
  %one = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %hundred = arith.constant 6553700 : i32
  %first = arith.shli %lane, %one : i32
  %second = arith.addi %first, %one : i32
  %high = arith.shli %second, %c16 : i32
  %both = arith.ori %first, %high : i32
  %more = arith.addi %both, %hundred : i32
  return %both, %more : i32, i32
}

// Row `lane` of both, for half of the lanes.
func.func private @row(%s: !shared, %lane: i32) -> !llvm.ptr<3> {
  %sixteen = arith.constant 16 : i64
  %start = memref.extract_aligned_pointer_as_index %s : !shared -> index
  %address = arith.index_cast %start : index to i64
  %row = arith.extui %lane : i32 to i64
  %rest = arith.remui %row, %sixteen : i64
  %bytes = arith.muli %rest, %sixteen : i64
  %to = arith.addi %address, %bytes : i64
  %ptr = llvm.inttoptr %to : i64 to !llvm.ptr<3>
  return %ptr : !llvm.ptr<3>
}

func.func private @copy(%s: !shared, %out: memref<16x8xi16>, %lane: i32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %i = arith.index_cast %lane : i32 to index
  %half = arith.cmpi ult, %i, %c16 : index
  scf.if %half {
    %v = vector.load %s[%i, %c0] : !shared, vector<8xi16>
    vector.store %v, %out[%i, %c0] : memref<16x8xi16>, vector<8xi16>
  }
  return
}

// ROWS: rows: clean
// ROWS: argument 0: 0 1 2 3 4 5 6 7 8 9 {{.*}} 63 100 101 102 103 104 105 106 107 108
func.func @rows(%out: memref<16x8xi16>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %s = memref.alloc() : !shared
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %a, %b = call @numbers(%lane) : (i32) -> (i32, i32)
  %to = call @row(%s, %lane) : (!shared, i32) -> !llvm.ptr<3>
  nvvm.stmatrix %to, %a, %b {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32, i32
  gpu.barrier
  call @copy(%s, %out, %lane) : (!shared, memref<16x8xi16>, i32) -> ()
  return
}

// COLUMNS: columns: clean
// COLUMNS: argument 0: 0 8 16 24 32 40 48 56 1 9 {{.*}} 63 100 108 116 124 132 140 148 156 101
func.func @columns(%out: memref<16x8xi16>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %s = memref.alloc() : !shared
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %a, %b = call @numbers(%lane) : (i32) -> (i32, i32)
  %to = call @row(%s, %lane) : (!shared, i32) -> !llvm.ptr<3>
  nvvm.stmatrix %to, %a, %b {layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32, i32
  gpu.barrier
  call @copy(%s, %out, %lane) : (!shared, memref<16x8xi16>, i32) -> ()
  return
}

// A lane that gives the address of a row has not written all of it.
// RACE: error: RAW race: vector.load reads what another thread wrote
func.func @no_barrier(%out: memref<16x8xi16>) attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %s = memref.alloc() : !shared
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %a, %b = call @numbers(%lane) : (i32) -> (i32, i32)
  %to = call @row(%s, %lane) : (!shared, i32) -> !llvm.ptr<3>
  nvvm.stmatrix %to, %a, %b {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32, i32
  call @copy(%s, %out, %lane) : (!shared, memref<16x8xi16>, i32) -> ()
  return
}

// Both matrices have rows 0 to 7.
// SAME: error: WAW race: nvvm.stmatrix writes these bytes twice, in no order: two of its matrices go to the same place
// SAME: help: give each matrix rows of its own: lane 8m + r has the address of row r of matrix m
func.func @same_rows() attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %s = memref.alloc() : !shared
  %eight = arith.constant 8 : i32
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %row = arith.remui %lane, %eight : i32
  %to = call @row(%s, %row) : (!shared, i32) -> !llvm.ptr<3>
  nvvm.stmatrix %to, %lane, %lane {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32, i32
  return
}

// Four matrices have 32 rows.
// OUTSIDE: error: nvvm.stmatrix: 16 bytes from byte 256 on are not inside of workgroup buffer %s
// OUTSIDE-NEXT: this: thread 16 of block 0
func.func @outside() attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %s = memref.alloc() : !shared
  %sixteen = arith.constant 16 : i64
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %start = memref.extract_aligned_pointer_as_index %s : !shared -> index
  %address = arith.index_cast %start : index to i64
  %row = arith.extui %lane : i32 to i64
  %bytes = arith.muli %row, %sixteen : i64
  %at = arith.addi %address, %bytes : i64
  %to = llvm.inttoptr %at : i64 to !llvm.ptr<3>
  nvvm.stmatrix %to, %lane, %lane, %lane, %lane {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32, i32, i32, i32
  return
}

// BYTES: error: the interpreter knows an stmatrix of 8×8 numbers of 16 bits only
func.func @bytes(%s: !shared, %x: i32) {
  %to = call @row(%s, %x) : (!shared, i32) -> !llvm.ptr<3>
  nvvm.stmatrix %to, %x {layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 16, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b8>} : !llvm.ptr<3>, i32
  return
}
