// Stores that one thread issues are executed by all threads in token form. They have a token for each kind of wait.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!line = memref<1024xf32, #gpu.address_space<workgroup>>
!out = memref<1024xf32>

// The first wait is for the source alone.
// CHECK-LABEL: gpu.func @both_waits
// CHECK: %[[LEADER:[a-z0-9_]+]] = gpux.elect
// CHECK-NEXT: %[[READ:[a-z0-9_]+]], %[[DONE:[a-z0-9_]+]] = gpux.bulk_store async %
// CHECK-NEXT: async.await %[[READ]]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: async.await %[[DONE]]
// CHECK-NEXT: gpu.return
//
// All of it is done by one thread.
// CHECK-LABEL: gpu.func @in_one_thread
// CHECK: %[[LEADER:[a-z0-9_]+]] = gpux.elect
// CHECK-NEXT: %[[READ:[a-z0-9_]+]], %[[DONE:[a-z0-9_]+]] = gpux.bulk_store async %
// CHECK-NEXT: async.await %[[READ]]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: gpu.return
//
// One read may be outstanding: that of the store before, which is the other token's as well.
// CHECK-LABEL: gpu.func @rotation
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: scf.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] = %[[READY]]) -> (!async.token) {
// CHECK-NEXT: %[[READ:[a-z0-9_]+]], %[[DONE:[a-z0-9_]+]] = gpux.bulk_store async %
// CHECK-NEXT: async.await %[[OLD]]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.yield %[[READ]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %{{.*}}
// CHECK-NEXT: gpu.return
gpu.module @m {
  gpu.func @both_waits(%out: !out) workgroup(%line: !line) kernel {
    %leader = gpux.elect
    scf.if %leader {
      gpux.bulk_store %line, %out : !line to !out
    }
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    gpu.barrier
    gpux.wait_group <bulk>, 0
    gpu.return
  }

  gpu.func @in_one_thread(%out: !out) workgroup(%line: !line) kernel {
    %leader = gpux.elect
    scf.if %leader {
      gpux.bulk_store %line, %out : !line to !out
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 0 read
    }
    gpu.barrier
    gpu.return
  }

  gpu.func @rotation(%out: !out, %n: index) workgroup(%line: !line) kernel {
    %leader = gpux.elect
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      scf.if %leader {
        gpux.bulk_store %line, %out : !line to !out
      }
      gpux.commit_group <bulk>
      gpux.wait_group <bulk>, 1 read
      gpu.barrier
    }
    gpux.wait_group <bulk>, 0 read
    gpu.return
  }
}
