// An address that is known to be in another memory space than it is taken for is refused: the hardware would not ask.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm --verify-diagnostics

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @left {
  gpu.func @allocated(%src: !Global, %i: index) kernel {
    // expected-error @+2 {{'memref.alloc' op allocates workgroup memory, which upstream's lowering would take from malloc or the stack}}
    // expected-note @+1 {{run --gpux-allocs-to-globals first}}
    %a = memref.alloc() : !Buffer
    gpux.copy %src[%i], %a[%i], 4 : !Global to !Buffer
    gpu.return
  }
}

// -----

// A function with copies is device code wherever it stands.
func.func @outside(%src: memref<?xf32>, %i: index) {
  // expected-error @+2 {{'memref.alloca' op allocates workgroup memory}}
  // expected-note @+1 {{run --gpux-allocs-to-globals first}}
  %a = memref.alloca() : memref<64xf32, 3>
  gpux.copy %src[%i], %a[%i], 4 : memref<?xf32> to memref<64xf32, 3>
  return
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @from_stack {
  // The hardware would read global memory at that address. A loop hands it on.
  gpu.func @copy(%n: index, %i: index) workgroup(%a: !Buffer) kernel {
    %c1 = arith.constant 1 : index
    // expected-note @+1 {{this is thread-private memory}}
    %own = memref.alloca() : memref<64xf32>
    %end = scf.for %k = %i to %n step %c1 iter_args(%m = %own) -> memref<64xf32> {
      %v = memref.cast %m : memref<64xf32> to memref<?xf32>
      // expected-error @+2 {{'gpux.copy' op uses an address in thread-private memory as one in global memory}}
      // expected-note @+1 {{copy the elements instead}}
      gpux.copy %v[%i], %a[%i], 4 : memref<?xf32> to !Buffer
      scf.yield %m : memref<64xf32>
    }
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @generic {
  gpu.func @copy(%i: index)
      workgroup(%a: !Buffer,
                // expected-note @+1 {{this is workgroup memory}}
                %b: !Buffer) kernel {
    %any = memref.memory_space_cast %b : !Buffer to memref<64xf32>
    // expected-error @+2 {{'gpux.copy' op uses an address in workgroup memory as one in global memory}}
    // expected-note @+1 {{copy the elements instead}}
    gpux.copy %any[%i], %a[%i], 4 : memref<64xf32> to !Buffer
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @cast {
  gpu.func @to_workgroup(%i: index) kernel {
    // expected-note @+1 {{this is thread-private memory}}
    %own = memref.alloca() : memref<64xf32>
    // expected-error @+2 {{'memref.memory_space_cast' op uses an address in thread-private memory as one in workgroup memory}}
    // expected-note @+1 {{copy the elements instead}}
    %a = memref.memory_space_cast %own : memref<64xf32> to !Buffer
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @sound {
  // What a caller says of its pointers is believed, and there and back again is where it was.
  gpu.func @believed(%m: memref<64xf32>, %i: index) workgroup(%a: !Buffer) kernel {
    %global = memref.memory_space_cast %m : memref<64xf32> to memref<64xf32, 1>
    %any = memref.memory_space_cast %a : !Buffer to memref<64xf32>
    %again = memref.memory_space_cast %any : memref<64xf32> to !Buffer
    gpux.copy %global[%i], %again[%i], 4 : memref<64xf32, 1> to !Buffer
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @selected {
  // Either arm may be it, and upstream's copy is no different.
  gpu.func @copy(%m: memref<64xf32>, %i: index, %p: i1) workgroup(%a: !Buffer) kernel {
    // expected-note @+1 {{this is thread-private memory}}
    %own = memref.alloca() : memref<64xf32>
    %either = arith.select %p, %m, %own : memref<64xf32>
    // expected-error @+2 {{'nvgpu.device_async_copy' op uses an address in thread-private memory as one in global memory}}
    // expected-note @+1 {{copy the elements instead}}
    %t = nvgpu.device_async_copy %either[%i], %a[%i], 4 : memref<64xf32> to !Buffer
    gpu.return
  }
}
