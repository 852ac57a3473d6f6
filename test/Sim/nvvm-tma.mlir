// Tiles and lines between pointers, as upstream's --convert-nvgpu-to-nvvm leaves them. Coordinates come innermost first.
//
// RUN: async-sim %s --kernel=tiles --arg 0=8x24:ramp --print | FileCheck %s --check-prefix=TILES
// RUN: async-sim %s --kernel=lines --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=LINES
// RUN: async-sim %s --kernel=nothing | FileCheck %s --check-prefix=NOTHING
// RUN: not async-sim %s --kernel=too_few_bytes | FileCheck %s --check-prefix=FEW
// RUN: not async-sim %s --kernel=one_coordinate | FileCheck %s --check-prefix=ONE
// RUN: not async-sim %s --kernel=no_tile | FileCheck %s --check-prefix=ALIGN
// RUN: not async-sim %s --kernel=no_box 2>&1 | FileCheck %s --check-prefix=BOX
// RUN: not async-sim %s --kernel=multicast 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not async-sim %s --kernel=im2col 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not async-sim %s --kernel=scatter 2>&1 | FileCheck %s --check-prefix=SCATTER
// RUN: not async-sim %s --kernel=other_block 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not async-sim %s --kernel=reduction 2>&1 | FileCheck %s --check-prefix=REDUCE

!tile = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = memref<1xi64, #gpu.address_space<workgroup>>
!buf = memref<2x8xf16, #gpu.address_space<workgroup>>

gpu.module @pointers {
  func.func private @make(%bar: !bar) -> !llvm.ptr<3> {
    %one = llvm.mlir.constant(1 : i32) : i32
    %at = memref.extract_aligned_pointer_as_index %bar : !bar -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    nvvm.mbarrier.init %p, %one : !llvm.ptr<3>, i32
    return %p : !llvm.ptr<3>
  }

  func.func private @place(%buf: !buf) -> !llvm.ptr<3> {
    %at = memref.extract_aligned_pointer_as_index %buf : !buf -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    return %p : !llvm.ptr<3>
  }

  func.func private @wait(%p: !llvm.ptr<3>, %bytes: i32) {
    %zero = llvm.mlir.constant(0 : i32) : i32
    nvvm.mbarrier.arrive.expect_tx %p, %bytes : !llvm.ptr<3>, i32
    nvvm.mbarrier.try_wait.parity %p, %zero, %zero : !llvm.ptr<3>, i32, i32
    return
  }

  // Row 6 is the last but one; column -2 is filled.
  // TILES: tiles: clean
  // TILES: argument 0: 0 0 144 145 146 147 148 149 8 9
  gpu.func @tiles(%x: !llvm.ptr) workgroup(%bar: !bar, %buf: !buf) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %described = builtin.unrealized_conversion_cast %x : !llvm.ptr to !tile
    %bytes = llvm.mlir.constant(32 : i32) : i32
    %left = llvm.mlir.constant(-2 : i32) : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %row = llvm.mlir.constant(6 : i32) : i32
    nvvm.prefetch tensormap, %x : !llvm.ptr
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    %far = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %far, %x, %p, box[%left, %row] : !llvm.ptr<7>, !llvm.ptr
    func.call @wait(%p, %bytes) : (!llvm.ptr<3>, i32) -> ()
    nvvm.cp.async.bulk.tensor.global.shared.cta %x, %at, box[%zero, %zero] : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    gpu.return
  }

  // LINES: lines: clean
  // LINES: argument 1: 0 1 2 3 4 5 6 7 0
  gpu.func @lines(%x: memref<16xf16>, %y: memref<16xf16>) workgroup(%bar: !bar, %buf: !buf) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %bytes = llvm.mlir.constant(16 : i32) : i32
    %from = memref.extract_aligned_pointer_as_index %x : memref<16xf16> -> index
    %from_int = arith.index_cast %from : index to i64
    %source = llvm.inttoptr %from_int : i64 to !llvm.ptr<1>
    %to = memref.extract_aligned_pointer_as_index %y : memref<16xf16> -> index
    %to_int = arith.index_cast %to : index to i64
    %destination = llvm.inttoptr %to_int : i64 to !llvm.ptr<1>
    nvvm.cp.async.bulk.prefetch %source, %bytes : !llvm.ptr<1>
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    %far = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.shared.cluster.global %far, %source, %p, %bytes : !llvm.ptr<7>, !llvm.ptr<1>
    func.call @wait(%p, %bytes) : (!llvm.ptr<3>, i32) -> ()
    nvvm.cp.async.bulk.global.shared.cta %destination, %at, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    gpu.return
  }

  // What a predicate leaves out needs no address.
  // NOTHING: nothing: clean
  gpu.func @nothing(%x: !tile) workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %false = llvm.mlir.constant(false) : i1
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %wild = llvm.getelementptr %p[1000] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.arrive.expect_tx %p, %zero, predicate = %false : !llvm.ptr<3>, i32, i1
    %far = llvm.addrspacecast %wild : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %far, %x_at, %p, box[%zero, %zero] predicate = %false : !llvm.ptr<7>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.global.shared.cta %x_at, %wild, box[%zero, %zero], predicate = %false : !llvm.ptr, !llvm.ptr<3>
    gpu.return
  }

  // FEW: error: nvvm.mbarrier.try_wait.parity: the copies on phase 0 of %bar[0] bring 16 bytes more than it expects
  gpu.func @too_few_bytes(%x: !tile) workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %bytes = llvm.mlir.constant(16 : i32) : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %at, %x_at, %p, box[%zero, %zero] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    func.call @wait(%p, %bytes) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }

  // ONE: error: nvvm.cp.async.bulk.tensor.shared.cluster.global: an operand is not one coordinate for each dimension of the tensor
  gpu.func @one_coordinate(%x: !tile) workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %at, %x_at, %p, box[%zero] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    gpu.return
  }

  // ALIGN: error: nvvm.cp.async.bulk.tensor.shared.cluster.global: byte 16 of workgroup buffer %buf is no multiple of 128, which the access needs
  gpu.func @no_tile(%x: !tile) workgroup(%bar: !bar, %buf: memref<64xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %start = memref.extract_aligned_pointer_as_index %buf : memref<64xf16, #gpu.address_space<workgroup>> -> index
    %int = arith.index_cast %start : index to i64
    %at = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    %next = llvm.getelementptr %at[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
    nvvm.cp.async.bulk.tensor.shared.cluster.global %next, %x_at, %p, box[%zero, %zero] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    gpu.return
  }

  // BOX: error: a parameter is a pointer to a tensor map descriptor, and nothing tells what box that has: cast it to the !nvgpu.tensormap.descriptor that it was
  gpu.func @no_box(%x: !llvm.ptr) workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.global.shared.cta %x, %at, box[%zero, %zero] : !llvm.ptr, !llvm.ptr<3>
    gpu.return
  }

  // CLUSTER: error: the interpreter knows no clusters, and so not this 'nvvm.cp.async.bulk.tensor.shared.cluster.global': run the kernel with blocks that stand alone
  gpu.func @multicast(%x: !tile) workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %mask = llvm.mlir.constant(3 : i16) : i16
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    %far = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %far, %x_at, %p, box[%zero, %zero] multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr
    gpu.return
  }

  // MODE: error: the interpreter knows no copies of mode im2col: copy tiles
  gpu.func @im2col(%x: !tile) workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %offset = llvm.mlir.constant(0 : i16) : i16
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    %far = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %far, %x_at, %p, box[%zero, %zero, %zero] im2col[%offset] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, !llvm.ptr
    gpu.return
  }

  // SCATTER: error: the interpreter knows no copies of mode tile_scatter4: copy tiles
  gpu.func @scatter(%x: !tile) workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.global.shared.cta %x_at, %at, box[%zero, %zero, %zero, %zero, %zero] {mode = #nvvm.tma_store_mode<tile_scatter4>} : !llvm.ptr, !llvm.ptr<3>
    gpu.return
  }

  // BLOCK: error: the interpreter knows no clusters, and so not this 'nvvm.cp.async.bulk.shared.cluster.shared.cta'
  gpu.func @other_block() workgroup(%bar: !bar, %buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %bytes = llvm.mlir.constant(16 : i32) : i32
    %p = func.call @make(%bar) : (!bar) -> !llvm.ptr<3>
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    %far = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.shared.cluster.shared.cta %far, %at, %p, %bytes : !llvm.ptr<7>, !llvm.ptr<3>
    gpu.return
  }

  // REDUCE: error: the interpreter does not know 'nvvm.cp.async.bulk.tensor.reduce'
  gpu.func @reduction(%x: !tile) workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %x_at = builtin.unrealized_conversion_cast %x : !tile to !llvm.ptr
    %zero = llvm.mlir.constant(0 : i32) : i32
    %at = func.call @place(%buf) : (!buf) -> !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.reduce %x_at, %at, box[%zero, %zero] {redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, !llvm.ptr<3>
    gpu.return
  }
}
