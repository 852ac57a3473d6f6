// What a program has allocated for the device and not freed is named at the end. It is not an error: the program ends, and what it prints is right.

// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --max-reports=1 | FileCheck %s --check-prefix=ONE
// RUN: async-sim %s --json | FileCheck %s --check-prefix=JSON

// CHECK: {{^}}main: never freed: the buffer of {{.*}}never-freed.mlir:[[#@LINE+12]]:{{[0-9]+}}, 16 bytes
// CHECK-NEXT: {{^}}main: never freed: the buffer of {{.*}}never-freed.mlir:[[#@LINE+12]]:{{[0-9]+}}, 64 bytes
// CHECK-NEXT: {{^}}main: clean

// ONE: 16 bytes
// ONE-NEXT: main: never freed: 1 more buffer
// ONE-NEXT: main: clean

// JSON: "never_freed": [
// JSON-NEXT: 16 bytes
// JSON-NEXT: 64 bytes
func.func @main() {
  %left = gpu.alloc () : memref<4xi32>
  %pinned = gpu.alloc host_shared () : memref<16xi32>
  %freed = gpu.alloc () : memref<4xi32>
  gpu.dealloc %freed : memref<4xi32>
  // Memory that only the host accesses is not looked at.
  %host = memref.alloc() : memref<4xi32>
  return
}
