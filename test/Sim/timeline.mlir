// A wait for everything lasts until the copy of the next iteration has landed; the exact one does not. What happens does
// not depend on the costs, how long it takes does.
//
// RUN: split-file %s %t.dir
// RUN: async-sim %t.dir/exact.mlir --compare=%t.dir/drain.mlir --timeline=%t.svg --trace=%t.json --cost latency=100 --cost bytes-per-cycle=128 | FileCheck %s
// RUN: FileCheck %s --check-prefix=SVG < %t.svg
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: not async-sim %t.dir/exact.mlir --cost speed=1 2>&1 | FileCheck %s --check-prefix=COST

// CHECK: copies: clean
// CHECK: copies: clean
// CHECK: copies in {{.*}}exact.mlir: 567 cycles; warps wait 425: 425 for copies, 0 at block barriers, 0 at mbarriers
// CHECK: copies in {{.*}}drain.mlir: 934 cycles; warps wait 792: 792 for copies, 0 at block barriers, 0 at mbarriers

// One picture is to the right of the other one, as high, and on the same scale: the ticks are the same.
// SVG: <svg xmlns
// SVG: <svg x="0" y="[[TOP:[0-9]+]]"
// SVG: >copies in {{.*}}exact.mlir</text>
// SVG-NEXT: >567 cycles; warps wait 425: 425 for copies, 0 at block barriers, 0 at mbarriers</text>
// SVG-NEXT: >cycle</text>
// SVG: <text x="[[X0:[0-9.]+]]" {{.*}} class="tick" {{.*}}>0</text>
// SVG: <text x="[[X900:[0-9.]+]]" {{.*}} class="tick" {{.*}}>900</text>
// SVG: >iteration</text>
// SVG: <title>iteration 0 of the scf.for at {{.*}}exact.mlir:10:3: cycles {{[0-9]+}} to {{[0-9]+}}</title>
// SVG: <title>iteration 7 of the scf.for
// SVG-NOT: iteration 8
// SVG: class="iteration" font-size="9">0</text>
// SVG: class="iteration" font-size="9">7</text>
// SVG: >warp 0</text>
// SVG: waits {{[0-9]+}} cycles for copies: gpux.wait_group at {{.*}}exact.mlir
// SVG: >cp_async</text>
// SVG: issued {{[0-9]+}}, lands {{[0-9]+}}, observed {{[0-9]+}}, read {{[0-9]+}}
// SVG: <svg x="900" y="[[TOP]]"
// SVG: >copies in {{.*}}drain.mlir</text>
// SVG: >934 cycles; warps wait 792:
// SVG: <text x="[[X0]]" {{.*}} class="tick" {{.*}}>0</text>
// SVG: <text x="[[X900]]" {{.*}} class="tick" {{.*}}>900</text>

// TRACE: {"traceEvents":[
// TRACE: "name":"warp 0: cp_async"

// COST: there is no cost named 'speed'

//--- exact.mlir
!src = memref<64xf32>
!dst = memref<2xf32, #gpu.address_space<workgroup>>
func.func @copies(%src: !src, %out: !src) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpux.copy %src[%c0], %dst[%c0], 1 : !src to !dst
  gpux.commit_group <cp_async>
  scf.for %i = %c0 to %c8 step %c1 {
    %next = arith.addi %i, %c1 : index
    %this = arith.andi %i, %c1 : index
    %other = arith.andi %next, %c1 : index
    gpux.copy %src[%next], %dst[%other], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 1
    %x = memref.load %dst[%this] : !dst
    memref.store %x, %out[%i] : !src
  }
  gpux.wait_group <cp_async>, 0
  return
}
//--- drain.mlir
!src = memref<64xf32>
!dst = memref<2xf32, #gpu.address_space<workgroup>>
func.func @copies(%src: !src, %out: !src) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpux.copy %src[%c0], %dst[%c0], 1 : !src to !dst
  gpux.commit_group <cp_async>
  scf.for %i = %c0 to %c8 step %c1 {
    %next = arith.addi %i, %c1 : index
    %this = arith.andi %i, %c1 : index
    %other = arith.andi %next, %c1 : index
    gpux.copy %src[%next], %dst[%other], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %x = memref.load %dst[%this] : !dst
    memref.store %x, %out[%i] : !src
  }
  gpux.wait_group <cp_async>, 0
  return
}
