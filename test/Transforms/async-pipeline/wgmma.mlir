// Loops that multiply asynchronously: a multiplication reads its slots until it is awaited, and that is put off until the multiplications
// of the next iteration have been issued. The slot is filled again after the await.
//
// RUN: async-opt %s --async-pipeline=short-trips=branch --split-input-file --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --async-pipeline="short-trips=branch epilogue=predicate" --split-input-file 2>/dev/null | FileCheck %s --check-prefix=PREDICATE

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// Three stages take three slots: in a round, the products of iteration i + 1 are issued, those of iteration i are awaited, and its slot
// gets iteration i + 3. The kernel carries one accumulator.
// CHECK-LABEL: gpu.func @plain
// CHECK: memref.alloc() {alignment = {{.*}}} : memref<24576xi8
// CHECK-COUNT-2: gpux.tma_load async
// CHECK: gpux.wgmma async
// CHECK: gpux.tma_load async
// CHECK: %[[KERNEL:.*]]:5 = scf.for %{{.*}} iter_args(%[[NEXT:.*]] = %{{.*}}, %[[FULL:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}}) -> (!async.token, !async.token, !async.token, !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>, i32)
// CHECK: async.await %[[FULL]]{{$}}
// CHECK: memref.view
// CHECK: %[[A:.*]] = nvgpu.warpgroup.generate.descriptor
// CHECK: %[[MORE:.*]], %[[T:.*]] = gpux.wgmma async %[[A]], %[[A]], %[[SUM]]
// CHECK-NEXT: async.await %[[BEFORE]]{{$}}
// CHECK: memref.view
// CHECK-NEXT: %[[LOADED:.*]] = gpux.tma_load async
// CHECK-NEXT: scf.yield %[[LOADED]], %[[NEXT]], %[[T]], %[[MORE]], %{{.*}} :
// The last two iterations, and what is awaited of them.
// CHECK: async.await %[[KERNEL]]#1
// CHECK: gpux.wgmma async {{.*}}, %[[KERNEL]]#3
// CHECK-NEXT: async.await %[[KERNEL]]#2
// CHECK: async.await %[[KERNEL]]#0
// CHECK: %[[LAST:.*]], %[[TLAST:.*]] = gpux.wgmma async
// CHECK-NEXT: async.await
// CHECK: async.await %[[TLAST]]
// CHECK: scf.yield %[[LAST]]
// For few iterations, the loop as it was.
// CHECK: gpux.tma_load async
// CHECK-NEXT: async.await
// CHECK: gpux.wgmma async
// CHECK-NEXT: async.await
// CHECK: nvgpu.warpgroup.mma.store
//
// What is left to do in the last rounds is in the kernel.
// PREDICATE-LABEL: gpu.func @plain
// PREDICATE: memref.alloc() {alignment = {{.*}}} : memref<24576xi8
// PREDICATE: scf.for
// PREDICATE: async.await
// PREDICATE: gpux.wgmma async
// PREDICATE: async.await
// PREDICATE: gpux.tma_load async
// PREDICATE: scf.yield
gpu.module @plain {
  gpu.func @plain(%map: !map, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stages 2 and 3}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %a, %a, %sum : !matrix, !matrix, !acc
      async.await %p
      scf.yield %next : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// The sum of each iteration is stored: it is awaited in its own round.
// CHECK-LABEL: gpu.func @looked_at
// CHECK: memref.alloc() {alignment = {{.*}}} : memref<24576xi8
// CHECK: scf.for
// CHECK: async.await
// CHECK: gpux.tma_load async
// CHECK: %[[SUM:.*]], %[[T:.*]] = gpux.wgmma async
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: nvgpu.warpgroup.mma.store %[[SUM]]
gpu.module @looked_at {
  gpu.func @looked_at(%map: !map, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    scf.for %i = %c0 to %n step %c1 {
      %t = gpux.tma_load async %map[%c0, %i], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %a, %a, %zero : !matrix, !matrix, !acc
      async.await %p
      nvgpu.warpgroup.mma.store %next, %out : !acc to memref<64x64xf32>
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!registers = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>

// A is in registers that each iteration writes: the multiplication is awaited in its own round. Those that are written before the loop
// are the same in each iteration, so the await can be put off.
// CHECK-LABEL: gpu.func @from_registers
// CHECK: scf.for
// CHECK: gpux.write_fragment
// CHECK: gpux.wgmma async
// CHECK-NEXT: async.await
// CHECK: scf.yield
gpu.module @from_registers {
  gpu.func @from_registers(%map: !map, %n: index, %numbers: vector<1x8x2x2xf16>, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bs = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %bs : !map, !tile
      %a = gpux.write_fragment %numbers : vector<1x8x2x2xf16> to !registers
      async.await %t
      %b = nvgpu.warpgroup.generate.descriptor %bs, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %a, %b, %sum {transpose_b} : !registers, !matrix, !acc
      async.await %p
      scf.yield %next : !acc
    } {async.num_stages = 3}
    %others = memref.alloc() : !tile
    %written = gpux.write_fragment %numbers : vector<1x8x2x2xf16> to !registers
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stages 2 and 3}}
    %more = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %all) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %others : !map, !tile
      async.await %t
      %b = nvgpu.warpgroup.generate.descriptor %others, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %written, %b, %sum {transpose_b} : !registers, !matrix, !acc
      async.await %p
      scf.yield %next : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %more, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// Threads write to B, of which there is one version, once it has been read: the await stays before that.
// CHECK-LABEL: gpu.func @written
// CHECK: scf.for
// CHECK: gpux.wgmma async
// CHECK-NEXT: async.await
// CHECK: gpu.barrier
// CHECK: memref.store
// CHECK: scf.yield
gpu.module @written {
  // expected-remark @+1 {{block barriers}}
  gpu.func @written(%map: !map, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = arith.constant 1.0 : f16
    %thread = gpu.thread_id x
    %c64 = arith.constant 64 : index
    %row = arith.divui %thread, %c64 : index
    %column = arith.remui %thread, %c64 : index
    %as = memref.alloc() : !tile
    %bs = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      %b = nvgpu.warpgroup.generate.descriptor %bs, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %a, %b, %sum : !matrix, !matrix, !acc
      async.await %p
      memref.store %v, %bs[%row, %column] : !tile
      scf.yield %next : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// The descriptor is made before the loop: each iteration gets one of its slot. The stages are written: the await of the products is two
// rounds after their issue, so there are four slots.
// CHECK-LABEL: gpu.func @described_before
// CHECK: memref.alloc() {alignment = {{.*}}} : memref<32768xi8
// CHECK: scf.for
// CHECK: async.await
// CHECK: %[[SLOT:.*]] = memref.view
// CHECK-NEXT: %[[A:.*]] = nvgpu.warpgroup.generate.descriptor %[[SLOT]]
// CHECK-NEXT: gpux.wgmma async %[[A]], %[[A]]
// CHECK-NEXT: async.await
// CHECK: gpux.tma_load async
gpu.module @described_before {
  gpu.func @described_before(%map: !map, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stages 2 and 4}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %as {async.stage = 0, async.order = 3} : !map, !tile
      async.await %t {async.stage = 2, async.order = 0}
      %next, %p = gpux.wgmma async %a, %a, %sum {async.stage = 2, async.order = 1} : !matrix, !matrix, !acc
      async.await %p {async.stage = 4, async.order = 2}
      scf.yield %next : !acc
    }
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// A multiplication that nobody awaits keeps its slot for good.
gpu.module @never_awaited {
  gpu.func @never_awaited(%map: !map, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{is not pipelined}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %t = gpux.tma_load async %map[%c0, %i], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      // expected-note @+2 {{is never awaited in this loop, so its buffer can't be used again}}
      // expected-note @+1 {{await its token in the loop}}
      %next, %p = gpux.wgmma async %a, %a, %sum : !matrix, !matrix, !acc
      scf.yield %next : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// It is not known what a descriptor from elsewhere is of: nothing may overtake that.
gpu.module @unknown {
  gpu.func @unknown(%map: !map, %matrix: !matrix, %n: index, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{is not pipelined}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      // expected-note @+1 {{may access the same memory, but the schedule executes this one first}}
      %t = gpux.tma_load async %map[%c0, %i], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      // expected-note @+1 {{what comes first an iteration before}}
      %next, %p = gpux.wgmma async %a, %matrix, %sum : !matrix, !matrix, !acc
      async.await %p
      scf.yield %next : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
