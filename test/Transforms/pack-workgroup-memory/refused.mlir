// What can't be packed is refused where it stands.
//
// RUN: async-opt %s --split-input-file --gpux-pack-workgroup-memory --verify-diagnostics
// RUN: not async-opt %s --split-input-file --gpux-pack-workgroup-memory=chip=sm_70 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: chip is sm_70, but cp.async needs sm_80 or newer

!Large = memref<20000xf32, #gpu.address_space<workgroup>>
!Half = memref<20000xf16, #gpu.address_space<workgroup>>

gpu.module @too_large [#nvvm.target<chip = "sm_86">] {
  memref.global "private" @half : !Half = uninitialized
  // expected-error @+2 {{'gpu.func' op needs 120000 bytes of workgroup memory, but a block has at most 101376 on sm_86}}
  // expected-note-re @+1 {{80000 bytes: workgroup attribution 0}}
  gpu.func @kernel(%x: f32, %h: f16) workgroup(%a: !Large) kernel {
    %t = gpu.thread_id x
    // expected-note @+1 {{40000 bytes: global @half}}
    %b = memref.get_global @half : !Half
    memref.store %x, %a[%t] : !Large
    memref.store %h, %b[%t] : !Half
    %y = memref.load %a[%t] : !Large
    %z = memref.load %b[%t] : !Half
    gpu.return
  }
}

// -----

// On a larger GPU, it is packed.
!Large = memref<20000xf32, #gpu.address_space<workgroup>>

gpu.module @fits [#nvvm.target<chip = "sm_90">] {
  // expected-remark @+2 {{packs 1 buffer of 120000 bytes into 120000 bytes of dynamic workgroup memory}}
  // expected-note @+1 {{bytes 0 to 120000: workgroup attribution 0}}
  gpu.func @kernel(%x: f32) workgroup(%a: memref<30000xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    memref.store %x, %a[%t] : memref<30000xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @size {
  gpu.func @unknown_size(%n: index) kernel {
    // expected-error @+2 {{'memref.alloc' op allocates workgroup memory of a size that is not known before the kernel runs}}
    // expected-note @+1 {{give it a static size, or take a view of gpu.dynamic_shared_memory}}
    %a = memref.alloc(%n) : memref<?xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @layout {
  // expected-error @+2 {{with a layout that is not row-major}}
  // expected-note @+1 {{make it row-major, and take a view}}
  gpu.func @columns() workgroup(%a: memref<4x4xf32, strided<[1, 4]>, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

!Bytes = memref<?xi8, #gpu.address_space<workgroup>>

gpu.module @dynamic {
  gpu.func @unknown_place(%i: index) kernel {
    %all = gpu.dynamic_shared_memory : !Bytes
    // expected-error @+2 {{'memref.view' op takes a part of dynamic workgroup memory that is not known before the kernel runs}}
    // expected-note @+1 {{take views of static sizes at constant offsets, or buffers of their own}}
    %a = memref.view %all[%i][] : !Bytes to memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!Bytes = memref<?xi8, #gpu.address_space<workgroup>>

gpu.module @dynamic_bytes {
  gpu.func @no_view(%i: index) kernel {
    %all = gpu.dynamic_shared_memory : !Bytes
    // expected-error @+2 {{'memref.load' op takes a part of dynamic workgroup memory that is not known before the kernel runs}}
    // expected-note @+1 {{take views of static sizes at constant offsets, or buffers of their own}}
    %a = memref.load %all[%i] : !Bytes
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @called {
  // expected-error @+2 {{'gpu.func' op has workgroup memory in a function that is called, or may be}}
  // expected-note @+1 {{run --gpux-inline-calls first, or pass the buffer as an argument}}
  gpu.func @helper() workgroup(%a: !Buffer) {
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Bytes = memref<?xi8, #gpu.address_space<workgroup>>

gpu.module @called_dynamic {
  func.func @helper(%x: i8) {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'gpu.dynamic_shared_memory' op uses dynamic workgroup memory in a function that is called, which can't be moved}}
    %a = gpu.dynamic_shared_memory : !Bytes
    memref.store %x, %a[%c0] : !Bytes
    return
  }
  gpu.func @kernel(%x: f32, %y: i8) workgroup(%a: !Buffer) kernel {
    %t = gpu.thread_id x
    memref.store %x, %a[%t] : !Buffer
    // expected-note @+1 {{inline this call first, or pass a view of the memory as an argument}}
    func.call @helper(%y) : (i8) -> ()
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

func.func @launch(%x: f32) {
  %c1 = arith.constant 1 : index
  // expected-error @+2 {{'gpu.launch' op has workgroup memory in a gpu.launch, which is not a function yet}}
  // expected-note @+1 {{run --gpu-kernel-outlining first}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%a : !Buffer) {
    memref.store %x, %a[%tx] : !Buffer
    gpu.terminator
  }
  return
}

// -----

gpu.module @spaces {
  // expected-error @+2 {{has workgroup memory whose memory space is not #gpu.address_space<workgroup> in all types}}
  // expected-note @+1 {{write it as this everywhere}}
  gpu.func @two_spaces(%x: f32) workgroup(%a: memref<4xf32, 3>, %b: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    memref.store %x, %a[%t] : memref<4xf32, 3>
    memref.store %x, %b[%t] : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @alignment {
  // expected-error @+2 {{'gpu.func' op has workgroup memory that is aligned to 4611686018427387904 bytes, more than a block has}}
  // expected-note @+1 {{ask for less}}
  gpu.func @kernel(%x: f32) workgroup(%a: !Buffer {llvm.align = 4611686018427387904 : i64}) kernel {
    %t = gpu.thread_id x
    memref.store %x, %a[%t] : !Buffer
    gpu.return
  }
}

// -----

// One buffer is larger than all numbers of bytes.
!Buffer = memref<9223372036854775807xi8, #gpu.address_space<workgroup>>

gpu.module @huge {
  // expected-error @+4 {{'gpu.func' op needs 9223372036854775807 bytes of workgroup memory, but a block has at most 232448 on any GPU}}
  // expected-note @+3 {{9223372036854775807 bytes: workgroup attribution 0}}
  // expected-note @+2 {{9223372036854775807 bytes: workgroup attribution 1}}
  // expected-note @+1 {{9223372036854775807 bytes: workgroup attribution 2}}
  gpu.func @kernel(%x: i8, %i: index) workgroup(%a: !Buffer, %b: !Buffer, %c: !Buffer) kernel {
    memref.store %x, %a[%i] : !Buffer
    memref.store %x, %b[%i] : !Buffer
    memref.store %x, %c[%i] : !Buffer
    gpu.return
  }
}

// -----

// So many bytes are no number at all.
gpu.module @more_than_huge {
  // expected-error @+2 {{has workgroup memory of type memref<9223372036854775807xf32, #gpu.address_space<workgroup>>, which is more than a block has}}
  // expected-note @+1 {{make it smaller, or process it tile by tile}}
  gpu.func @kernel(%x: f32, %i: index) workgroup(%a: memref<9223372036854775807xf32, #gpu.address_space<workgroup>>) kernel {
    memref.store %x, %a[%i] : memref<9223372036854775807xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
