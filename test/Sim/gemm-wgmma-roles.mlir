// The GEMM with roles under the adversary: as it is written, pipelined, counted and lowered. Warps run as far apart as mbarriers let them.
// No race, no fault of an mbarrier, no deadlock, and the very numbers that the sequential kernel of gemm-wgmma.mlir computes. No size
// divides, so that tiles reach out of the tensors.
//
// RUN: async-sim %S/gemm-wgmma.mlir --kernel=gemm_wgmma --budget=100000000 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --out 2=%t.c.npy
// RUN: async-sim %S/../../examples/gemm_wgmma_roles.mlir --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c1.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c1.npy
//
// RUN: async-opt %S/../../examples/gemm_wgmma_roles.mlir --async-pipeline="chip=sm_90a short-trips=branch insert-barriers=false" --gpux-pack-workgroup-memory --gpux-insert-barriers -o %t.pipelined.mlir 2>/dev/null
// RUN: async-sim %t.pipelined.mlir --schedule=late --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c2.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c2.npy
// RUN: async-opt %t.pipelined.mlir --gpux-tokens-to-mbarriers --gpux-split-roles --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --refines=%t.pipelined.mlir --dynamic-workgroup=196608 --arg 0=128x328:random --arg 1=256x328:random --arg 2=128x256:zero --arg 3=328 | FileCheck %s
// RUN: async-sim %t.counted.mlir --schedule=early --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c3.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c3.npy
// RUN: async-opt %S/../../examples/gemm_wgmma_roles.mlir --async-pipeline="chip=sm_90a short-trips=branch computed-slots insert-barriers=false" --gpux-pack-workgroup-memory --gpux-insert-barriers -o %t.computed.mlir 2>/dev/null
// RUN: async-opt %t.computed.mlir --gpux-tokens-to-mbarriers=round-rings --gpux-split-roles --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --schedule=late --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c4.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c4.npy
// RUN: async-sim %t.nvvm.mlir --schedule=random --runs=3 --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c5.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c5.npy
//
// Fewer k-steps than stages, and none.
// RUN: async-sim %t.nvvm.mlir --dynamic-workgroup=196608 --arg 0=128x128:random --arg 1=256x128:random --arg 2=128x256:zero --arg 3=128 | FileCheck %s
// RUN: async-sim %t.nvvm.mlir --dynamic-workgroup=196608 --arg 0=128x64:random --arg 1=256x64:random --arg 2=128x256:zero --arg 3=0 | FileCheck %s

// Things taken away. Consumers don't wait until tiles are there; they don't arrive once they have read them; fewer of them have to arrive; the
// warp that loads does not wait for them; products are awaited a k-step later; there are two slots for four tiles; no barrier comes
// before the tile of C, where tiles are that the other warpgroup still multiplies.
// RUN: awk '/scf.for/ { loop++ } !(loop == 1 && /async.await/ && !gone++)' %t.pipelined.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=NO-AWAIT
// RUN: awk '/scf.for/ { loop++ } !(loop == 1 && /try_wait/)' %t.counted.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=NO-WAIT
// RUN: awk '/scf.for/ { loop++ } !(loop == 1 && /mbarrier.arrive /)' %t.counted.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=NO-ARRIVAL
// RUN: sed 's/%c256, predicate/%c128, predicate/' %t.counted.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=FEWER-ARRIVALS
// RUN: awk '/scf.for/ { loop++ } !(loop == 3 && /try_wait/)' %t.counted.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=AHEAD
// RUN: sed '/wait_group <wgmma>, 1/s/1$/2/' %t.counted.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=LATER
// RUN: sed '/arith.andi/s/%c3_i32/%c1_i32/' %t.pipelined.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=FEWER-SLOTS
// RUN: sed '/gpu.barrier/d' %t.pipelined.mlir | not async-sim - --dynamic-workgroup=196608 --arg 0=128x512:random --arg 1=256x512:random --arg 2=128x256:zero --arg 3=512 | FileCheck %s --check-prefix=NO-BARRIER

// CHECK-NOT: {{error|warning|note}}
// CHECK: gemm_wgmma_roles: clean
// NO-AWAIT: RAW of gpux.wgmma at {{.*}} and gpux.tma_load
// NO-WAIT: RAW of gpux.wgmma at {{.*}} and gpux.tma_load
// NO-ARRIVAL: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of {{.*}} 256 of its 256 arrivals are missing
// FEWER-ARRIVALS: error: nvgpu.mbarrier.arrive: is one arrival too many: {{.*}} has 128 arrivals
// AHEAD: error: nvgpu.mbarrier.arrive.expect_tx: arrives on phase 0 {{.*}}, which has all its arrivals already
// LATER: error: WAR race: gpux.tma_load writes what a matrix multiplication may still read
// FEWER-SLOTS: error: RAW race: gpux.wgmma reads what an asynchronous copy has not been seen to write
// NO-BARRIER: error: WAR race: nvgpu.warpgroup.mma.store writes what a matrix multiplication has read
