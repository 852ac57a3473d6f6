// What is read too early is an index, is converted, or is a condition, and ends the run: that it is read too early comes first, and why.
// Other threads come to what they wait for next, so that the report knows who writes it.
//
// RUN: not async-sim %s --kernel=index_without_barrier --arg 0=64:zero | FileCheck %s --check-prefix=INDEX
// RUN: not async-sim %s --kernel=index_without_wait --arg 0=64:zero | FileCheck %s --check-prefix=WAIT
// RUN: not async-sim %s --kernel=converted | FileCheck %s --check-prefix=CONVERTED
// RUN: not async-sim %s --kernel=condition | FileCheck %s --check-prefix=CONDITION
// RUN: not async-sim %s --kernel=step | FileCheck %s --check-prefix=STEP
// RUN: not async-sim %s --kernel=never_written | FileCheck %s --check-prefix=NEVER
// RUN: not async-sim %s --kernel=nothing_read | FileCheck %s --check-prefix=NOTHING
// RUN: not async-sim %s --kernel=index_without_barrier --arg 0=64:zero --json | FileCheck %s --check-prefix=JSON

!line = memref<64xi32, #gpu.address_space<workgroup>>
#two_warps = array<i32: 64, 1, 1>

gpu.module @garbage {
  // INDEX: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
  // INDEX: help: put a gpu.barrier between the write and the read
  // INDEX: error: memref.load: index -1 is out of bounds: dimension 0 of this view of argument 0 has size 64
  // INDEX: help: first see to what is read too early, or was never written: this may follow from it. Else let the access go only
  // JSON: "cause": "barrier"
  // JSON: "cause": "stop"
  gpu.func @index_without_barrier(%x: memref<?xf32>, %out: memref<64xf32>) workgroup(%line: !line) kernel
      attributes {known_block_size = #two_warps} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %number = arith.index_cast %t : index to i32
    memref.store %number, %line[%t] : !line
    %far = arith.subi %c63, %t : index
    %read = memref.load %line[%far] : !line
    %at = arith.index_cast %read : i32 to index
    %value = memref.load %x[%at] : memref<?xf32>
    memref.store %value, %out[%t] : memref<64xf32>
    gpu.return
  }

  // WAIT: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // WAIT: help: wait for the copy before this
  // WAIT: error: memref.load: index -1 is out of bounds
  gpu.func @index_without_wait(%x: memref<?xf32>, %numbers: memref<64xi32>) workgroup(%line: !line) kernel
      attributes {known_block_size = #two_warps} {
    %t = gpu.thread_id x
    gpux.copy %numbers[%t], %line[%t], 1 : memref<64xi32> to !line
    gpux.commit_group <cp_async>
    %read = memref.load %line[%t] : !line
    %at = arith.index_cast %read : i32 to index
    %value = memref.load %x[%at] : memref<?xf32>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // CONVERTED: error: WAR race: memref.store writes what another thread has read before, when nothing was there
  // CONVERTED: help: put a gpu.barrier after the write, before the read
  // CONVERTED: error: arith.{{.*}}: an operand holds no value on this path
  gpu.func @converted(%out: memref<64xi32>) workgroup(%line: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = #two_warps} {
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %reads = arith.cmpi ult, %t, %c32 : index
    scf.if %reads {
      %far = arith.addi %t, %c32 : index
      %read = memref.load %line[%far] : memref<64xf32, #gpu.address_space<workgroup>>
      %number = arith.fptosi %read : f32 to i32
      %more = arith.addi %number, %number : i32
      memref.store %more, %out[%t] : memref<64xi32>
    } else {
      memref.store %zero, %line[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // CONDITION: error: WAR race: memref.store writes what another thread has read before, when nothing was there
  // CONDITION: error: cf.assert: the assertion failed: too large
  // CONDITION: help: first see to what is read too early, or was never written: this may follow from it{{$}}
  gpu.func @condition() workgroup(%line: !line) kernel attributes {known_block_size = #two_warps} {
    %c32 = arith.constant 32 : index
    %eight = arith.constant 8 : i32
    %t = gpu.thread_id x
    %reads = arith.cmpi ult, %t, %c32 : index
    scf.if %reads {
      %far = arith.addi %t, %c32 : index
      %read = memref.load %line[%far] : !line
      %holds = arith.cmpi ule, %read, %eight : i32
      cf.assert %holds, "too large"
    } else {
      memref.store %eight, %line[%t] : !line
    }
    gpu.return
  }

  // STEP: error: WAR race: memref.store writes what another thread has read before, when nothing was there
  // STEP: error: scf.for: the step of the loop is not positive
  gpu.func @step() workgroup(%line: !line) kernel attributes {known_block_size = #two_warps} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %eight = arith.constant 8 : i32
    %t = gpu.thread_id x
    %reads = arith.cmpi ult, %t, %c32 : index
    scf.if %reads {
      %far = arith.addi %t, %c32 : index
      %read = memref.load %line[%far] : !line
      %step = arith.index_cast %read : i32 to index
      scf.for %i = %c0 to %c32 step %step {
      }
    } else {
      memref.store %eight, %line[%t] : !line
    }
    gpu.return
  }

  // NEVER: error: uninitialized read: memref.load reads memory that nothing has written
  // NEVER: error: memref.load: index -1 is out of bounds
  gpu.func @never_written(%x: memref<64xf32>) workgroup(%line: !line) kernel attributes {known_block_size = #two_warps} {
    %t = gpu.thread_id x
    %read = memref.load %line[%t] : !line
    %at = arith.index_cast %read : i32 to index
    %value = memref.load %x[%at] : memref<64xf32>
    gpu.return
  }

  // Here nothing was read before.
  // NOTHING: error: memref.store: index 64 is out of bounds
  // NOTHING: help: let the access go only where the buffer is: guard it, or make the buffer larger
  gpu.func @nothing_read(%x: i32) workgroup(%line: !line) kernel attributes {known_block_size = #two_warps} {
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %after = arith.addi %t, %c1 : index
    memref.store %x, %line[%after] : !line
    gpu.return
  }
}
