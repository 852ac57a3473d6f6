// When each buffer is in use, and why it is everywhere.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory=explain 2>&1 >/dev/null | FileCheck %s

!Global = memref<64xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Bytes = memref<256xi8, #gpu.address_space<workgroup>>

gpu.module @kernels {
  func.func private @unknown(!Buffer)

  // CHECK: remark: packs 4 buffers of 1024 bytes into 768 bytes of static workgroup memory
  // CHECK: note: bytes 0 to 256: workgroup attribution 0, in use from line [[#@LINE+15]] to [[#@LINE+16]]{{$}}
  // CHECK: note: bytes 0 to 256: workgroup attribution 1, in use from line [[#@LINE+17]] to [[#@LINE+18]]{{$}}
  // CHECK: note: bytes 256 to 512: workgroup attribution 2, in use everywhere, since 'func.call' may keep it{{$}}
  // CHECK: note: bytes 512 to 768: workgroup attribution 3, in use everywhere, since it may be read where nothing is written to it, or a load of it is over where that is not known{{$}}
  // CHECK: note: where (bytes) and when (#) each buffer is in use:
  // CHECK-NEXT: {{^}}  0 to 256 |...##.......| workgroup attribution 0{{$}}
  // CHECK-NEXT: {{^}}  0 to 256 |.....##.....| workgroup attribution 1{{$}}
  // CHECK-NEXT: {{^}}256 to 512 |############| workgroup attribution 2{{$}}
  // CHECK-NEXT: {{^}}512 to 768 |############| workgroup attribution 3{{$}}
  // CHECK-NEXT: {{^}}           line [[#@LINE+1]]  line [[#@LINE+14]]{{$}}
  gpu.func @kernel(%x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer, %c: !Buffer, %d: !Buffer) kernel {
    %t = gpu.thread_id x



    memref.store %x, %a[%t] : !Buffer
    %y = memref.load %a[%t] : !Buffer

    memref.store %y, %b[%t] : !Buffer
    %z = memref.load %b[%t] : !Buffer
    %w = memref.load %d[%t] : !Buffer
    func.call @unknown(%c) : (!Buffer) -> ()
    memref.store %z, %dst[%t] : !Global
    gpu.return
  }
}
