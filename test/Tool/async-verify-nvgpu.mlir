// What --nvgpu-exact-waits has written is checked anew, in another process, by the certificates that came with it.
//
// RUN: async-opt %s --nvgpu-exact-waits=certificates=%t.certificates -o %t.kernel 2>&1 | FileCheck %s --check-prefix=NONE
// NONE:     remark: gets no certificate: it has a wait of which nothing is claimed
// NONE-NOT: remark: gets no certificate
//
// RUN: sed '/@foreign/,/^  }/d' %t.kernel > %t.known
// RUN: async-verify %t.known %t.certificates | FileCheck %s --check-prefix=VERIFIED
// VERIFIED:      @rotated: verified (1 awaits, 3 nodes)
// VERIFIED-NEXT: @implied: verified (3 awaits, 1 nodes)
// VERIFIED-NOT:  verified
//
// RUN: not async-verify %t.kernel %t.certificates 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: 'nvgpu.device_async_copy' op belongs to a queue, but there is no certificate of @foreign

// Waits that others imply are only in the certificate's function.
// RUN: FileCheck %s --check-prefix=LINES --input-file=%t.certificates
// LINES:      {"version":1,"pass":"nvgpu-exact-waits","function":"@implied",{{.*}},"implied":[1,2],"ir":
// LINES-NEXT: {"version":1,"pass":"nvgpu-exact-waits","function":"@rotated",
// LINES-NOT:  implied
// LINES-NOT:  "function"

// Others, or none; another count in the kernel, and in both.
// RUN: sed 's/"implied":.1,2./"implied":[0,2]/' %t.certificates > %t.others
// RUN: not async-verify %t.known %t.others 2>&1 | FileCheck %s --check-prefix=OTHERS
// OTHERS:     error: the certificate of @implied, {{.*}}.others:1, does not hold: node 0, instruction {{[0-9]+}}: an operation may be in flight
// OTHERS-NOT: error:
// RUN: sed 's/"implied":.1,2.,//' %t.certificates > %t.no
// RUN: not async-verify %t.known %t.no 2>&1 | FileCheck %s --check-prefix=NO
// NO:     error: 'func.return' op is in the place of 'nvgpu.device_async_wait'
// NO-NOT: error:
// RUN: sed 's/"implied":.1,2./"implied":[1,2,3]/' %t.certificates > %t.more
// RUN: not async-verify %t.known %t.more 2>&1 | FileCheck %s --check-prefix=MORE
// MORE:     error: the certificate of @implied, {{.*}}.more:1, names other waits than its 'ir' has
// MORE-NOT: error:
// RUN: sed 's/numGroups = 1/numGroups = 2/' %t.known > %t.count
// RUN: not async-verify %t.count %t.certificates 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT:     error: 'nvgpu.device_async_wait' op has another 'numGroups'
// COUNT-NOT: error:
// RUN: sed 's/numGroups = 1/numGroups = 2/' %t.certificates > %t.both
// RUN: not async-verify %t.count %t.both 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH:     error: the certificate of @rotated, {{.*}}.both:2, does not hold: node {{[0-9]+}}, instruction {{[0-9]+}}: an operation may be in flight
// BOTH-NOT: error:

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

func.func @rotated(%src: !global, %dst: !shared, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %copy = nvgpu.device_async_copy %src[%c0], %dst[%c0], 4 : !global to !shared
  %first = nvgpu.device_async_create_group %copy
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%token = %first) -> !nvgpu.device.async.token {
    %again = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !global to !shared
    %next = nvgpu.device_async_create_group %again
    nvgpu.device_async_wait %token
    scf.yield %next : !nvgpu.device.async.token
  }
  return
}

func.func @implied(%src: !global, %a: !shared, %b: !shared, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : !global to !shared
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : !global to !shared
  %3 = nvgpu.device_async_create_group %2
  nvgpu.device_async_wait %3
  nvgpu.device_async_wait %1
  nvgpu.device_async_wait %1 {numGroups = 1 : i32}
  return
}

// Nobody knows what the token stands for.
func.func @foreign(%src: !global, %a: !shared, %i: index, %token: !nvgpu.device.async.token) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : !global to !shared
  %1 = nvgpu.device_async_create_group %0
  nvgpu.device_async_wait %token
  return
}
