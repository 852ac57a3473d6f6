"""Kernels that several tests use."""

import pytest

# Each thread writes what its mirror image has loaded. `{transfer}` moves the tile, up to the barrier and with it.
KERNEL = """\
!Global = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {{
  gpu.func @reverse(%src: !Global, %dst: !Global, %tiles: index) workgroup(%tile: !Tile) kernel
      attributes {{known_block_size = array<i32: 128, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c127, %t : index
    scf.for %i = %c0 to %tiles step %c1 {{
      %first = arith.muli %i, %c128 : index
      %at = arith.addi %first, %t : index
      {transfer}
      %x = memref.load %tile[%mirror] : !Tile
      memref.store %x, %dst[%at] : !Global
      gpu.barrier
    }}
    gpu.return
  }}
}}
"""
RIGHT = """gpux.copy %src[%at], %tile[%t], 1 : !Global to !Tile
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 0
      gpu.barrier"""
LATE = """gpux.copy %src[%at], %tile[%t], 1 : !Global to !Tile
      gpux.commit_group <cp_async>
      gpu.barrier
      gpux.wait_group <cp_async>, 0"""
TOKENS = """%copy = gpux.copy async %src[%at], %tile[%t], 1 : !Global to !Tile
      async.await %copy
      gpu.barrier"""


@pytest.fixture
def right() -> str:
    return KERNEL.format(transfer=RIGHT)


@pytest.fixture
def wait_after_barrier() -> str:
    return KERNEL.format(transfer=LATE)


@pytest.fixture
def tokens() -> str:
    return KERNEL.format(transfer=TOKENS)
