// What a read finds that comes too early is up to the schedule, and so is where the kernel goes from there.
//
// RUN: not async-sim %s --schedule=late --arg 0=zero | FileCheck %s --check-prefix=LATE
// RUN: not async-sim %s --schedule=early --arg 0=zero | FileCheck %s --check-prefix=EARLY
// RUN: not async-sim %s --schedule=exhaustive --arg 0=zero | FileCheck %s --check-prefix=EVERY
// RUN: not async-sim %s --schedule=random --runs=16 --arg 0=zero | FileCheck %s --check-prefix=RANDOM

!global = memref<8xi32>
!shared = memref<8xi32, #gpu.address_space<workgroup>>

// LATE: schedules.mlir:[[#@LINE+24]]:8: error: RAW race
// LATE-NOT: error
// LATE: not clean (1 run of

// EARLY: schedules.mlir:[[#@LINE+20]]:8: error: RAW race
// EARLY: schedules.mlir:[[#@LINE+23]]:10: error: RAW race
// EARLY: not clean (1 run of

// EVERY: schedules.mlir:[[#@LINE+16]]:8: error: RAW race
// EVERY: schedules.mlir:[[#@LINE+19]]:10: error: RAW race
// EVERY: not clean (3 runs of

// RANDOM: schedules.mlir:[[#@LINE+12]]:8: error: RAW race
// RANDOM: schedules.mlir:[[#@LINE+15]]:10: error: RAW race
// RANDOM: not clean (16 runs of
func.func @second_race_behind_the_first(%g: !global) {
  %s = memref.alloc() : !shared
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  gpux.copy %g[%c0], %s[%c0], 4 : !global to !shared
  gpux.commit_group <cp_async>

  // Zero if the copy has landed.
  %x = memref.load %s[%c0] : !shared
  %landed = arith.cmpi eq, %x, %zero : i32
  scf.if %landed {
    gpux.copy %g[%c4], %s[%c4], 4 : !global to !shared
    %y = memref.load %s[%c4] : !shared
  }
  return
}
