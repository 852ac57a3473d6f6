!tile = !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slots = memref<3x8x64xf16, #gpu.address_space<workgroup>>
!at = memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!line = memref<64xf16, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>

module attributes {gpu.container_module} {
gpu.module @kernels {
  // Loads tile %i to its slot.
  func.func private @issue(%x: !tile, %buf: !slots, %full: !ring, %i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %bytes = arith.constant 1024 : index
    %slot = arith.remui %i, %c3 : index
    %ahead = arith.addi %i, %c1 : index
    %next = arith.remui %ahead, %c3 : index
    %row = arith.muli %i, %c8 : index
    %at = memref.subview %buf[%slot, 0, 0] [1, 8, 64] [1, 1, 1] : !slots to !at
    %at_next = memref.subview %buf[%next, 0, 0] [1, 8, 64] [1, 1, 1] : !slots to !at
    nvgpu.mbarrier.arrive.expect_tx %full[%slot], %bytes : !ring
    gpux.tma_load %x[%row, %c0], %at, %full[%slot] : !tile, !at, !ring
    return
  }

  // Thread t sums up column t of what is in a slot.
  func.func private @column(%buf: !slots, %slot: index, %i: index, %y: memref<8x64xf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f16
    %t = gpu.thread_id x
    %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> f16 {
      %v = memref.load %buf[%slot, %k, %t] : !slots
      %plus = arith.addf %sum, %v : f16
      scf.yield %plus : f16
    }
    memref.store %sum, %y[%i, %t] : memref<8x64xf16>
    return
  }

  gpu.func @ring(%x: !tile, %y: memref<8x64xf16>, %z: memref<64xf16>) workgroup(%buf: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %ticks = arith.constant 1000 : index
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !ring
    %empty = nvgpu.mbarrier.create -> !ring
    scf.if %leader {
      scf.for %i = %c0 to %c3 step %c1 {
        nvgpu.mbarrier.init %full[%i], %c1 : !ring
        nvgpu.mbarrier.init %empty[%i], %c64 : !ring
      }
      nvvm.fence.mbarrier.init
    }
    gpu.barrier // Initialised.
    scf.if %leader {
      func.call @issue(%x, %buf, %full, %c0) : (!tile, !slots, !ring, index) -> ()
      func.call @issue(%x, %buf, %full, %c1) : (!tile, !slots, !ring, index) -> ()
      func.call @issue(%x, %buf, %full, %c2) : (!tile, !slots, !ring, index) -> ()
    }
    scf.for %i = %c0 to %c8 step %c1 {
      %slot = arith.remui %i, %c3 : index
      %more = arith.addi %i, %c1 : index
      %next = arith.remui %more, %c3 : index
      %round = arith.divui %i, %c3 : index
      %odd = arith.remui %round, %c2 : index
      %parity = arith.cmpi eq, %odd, %c1 : index
      nvgpu.mbarrier.try_wait.parity %full[%slot], %parity, %ticks : !ring
      func.call @column(%buf, %slot, %i, %y) : (!slots, index, index, memref<8x64xf16>) -> ()
      %token = nvgpu.mbarrier.arrive %empty[%slot] : !ring -> !nvgpu.mbarrier.token
      %is_tile = arith.cmpi ult, %i, %c5 : index
      %issues = arith.andi %is_tile, %leader : i1
      scf.if %issues {
        nvgpu.mbarrier.try_wait.parity %empty[%slot], %parity, %ticks : !ring
        %ahead = arith.addi %i, %c3 : index
        func.call @issue(%x, %buf, %full, %ahead) : (!tile, !slots, !ring, index) -> ()
      }
    }
    gpu.return
  }
}
}
