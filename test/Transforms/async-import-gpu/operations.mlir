// Each operation of the host as one of `gpux`.

// RUN: async-opt %s --async-import-gpu | FileCheck %s

module attributes {gpu.container_module} {
  // A kernel takes memory of the device where all launches pass that.
  // CHECK-LABEL: gpu.func @scale(
  // CHECK-SAME: %[[M:.+]]: memref<?xf32, #gpu.address_space<global>>, %{{.+}}: f32) kernel
  // CHECK: memref.store %{{.+}}, %[[M]][%{{.+}}] : memref<?xf32, #gpu.address_space<global>>
  // CHECK-LABEL: gpu.func @anything(
  // CHECK-SAME: memref<?xf32>) kernel
  gpu.module @kernels {
    gpu.func @scale(%m: memref<?xf32>, %f: f32) kernel {
      %i = gpu.thread_id x
      %x = memref.load %m[%i] : memref<?xf32>
      %y = arith.mulf %x, %f : f32
      memref.store %y, %m[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @anything(%m: memref<?xf32>) kernel {
      gpu.return
    }
  }

  // CHECK-LABEL: func.func @with_tokens
  // CHECK: %[[R:.+]] = async.ready
  // CHECK: %[[M:.+]], %[[T0:.+]] = gpux.alloc async [%[[R]]] (%{{.+}}) : memref<?xf32, #gpu.address_space<global>>
  // CHECK: %[[T1:.+]] = gpux.transfer async [%[[T0]]] %[[H:.+]], %[[M]] : memref<?xf32> to memref<?xf32, #gpu.address_space<global>>
  // CHECK: %[[T2:.+]] = gpux.memset async [%[[T0]]] %{{.+}}, %[[M]] : memref<?xf32, #gpu.address_space<global>>
  // CHECK: %[[J:.+]] = async.join %[[T1]], %[[T2]]
  // CHECK: %[[T3:.+]] = gpux.async_launch async [%[[J]]] @kernels::@scale blocks(%{{.+}}) threads(%{{.+}}) args(%[[M]], %{{.+}} : memref<?xf32, #gpu.address_space<global>>, f32)
  // CHECK: %[[T4:.+]] = gpux.transfer async [%[[T3]]] %[[M]], %[[H]] : memref<?xf32, #gpu.address_space<global>> to memref<?xf32>
  // CHECK: %[[T5:.+]] = gpux.dealloc async [%[[T4]]] %[[M]]
  // CHECK: async.await %[[T5]], %[[T4]]
  func.func @with_tokens(%h: memref<?xf32>, %n: index, %f: f32) {
    %c1 = arith.constant 1 : index
    %t = gpu.wait async
    %m, %t0 = gpu.alloc async [%t] (%n) : memref<?xf32>
    %t1 = gpu.memcpy async [%t0] %m, %h : memref<?xf32>, memref<?xf32>
    %t2 = gpu.memset async [%t0] %m, %f : memref<?xf32>, f32
    %j = gpu.wait async [%t1, %t2]
    %t3 = gpu.launch_func async [%j] @kernels::@scale blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
        args(%m : memref<?xf32>, %f : f32)
    %t4 = gpu.memcpy async [%t3] %h, %m : memref<?xf32>, memref<?xf32>
    %t5 = gpu.dealloc async [%t4] %m : memref<?xf32>
    gpu.wait [%t5, %t4]
    return
  }

  // In gpu, the host may take a view of what is not allocated yet.
  // CHECK-LABEL: func.func @view
  // CHECK: %[[M:.+]], %[[T:.+]] = gpux.alloc async
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: memref.subview %[[M]]
  func.func @view(%h: memref<4xf32>) {
    %t = gpu.wait async
    %m, %t0 = gpu.alloc async [%t] () : memref<8xf32>
    %v = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<4xf32>
    %t1 = gpu.memcpy async [%t0] %v, %h : memref<4xf32>, memref<4xf32>
    gpu.wait [%t1]
    return
  }

  // Without tokens, the host waits. What host and device share is the host's. Sizes of other types are cast.
  // CHECK-LABEL: func.func @synchronous
  // CHECK: %[[M:.+]], %[[T0:.+]] = gpux.alloc async (%{{.+}}) : memref<?xf32, #gpu.address_space<global>>
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK: %[[S:.+]], %[[T1:.+]] = gpux.host_alloc async (%{{.+}}) : memref<?xf32>
  // CHECK-NEXT: async.await %[[T1]]
  // CHECK: %[[T2:.+]] = gpux.transfer async %[[S]], %[[M]]
  // CHECK-NEXT: async.await %[[T2]]
  // CHECK: %[[C:.+]] = memref.memory_space_cast %[[M]] : memref<?xf32, #gpu.address_space<global>> to memref<?xf32>
  // CHECK: %[[I:.+]] = arith.index_cast %{{.+}} : i32 to index
  // CHECK: %[[T3:.+]] = gpux.async_launch async @kernels::@anything clusters(%[[I]], %[[I]], %[[I]]) blocks(%[[I]], %[[I]], %[[I]]) threads(%[[I]], %[[I]], %[[I]]) dynamic_memory %{{.+}} args(%[[C]] :
  // CHECK-NEXT: async.await %[[T3]]
  // CHECK: gpux.async_launch async @kernels::@anything {{.*}} args(%[[S]] :
  // CHECK: gpux.dealloc async %[[M]]
  // CHECK-NEXT: async.await
  // CHECK-NEXT: return
  func.func @synchronous(%n: index) {
    %c1 = arith.constant 1 : i32
    %m = gpu.alloc (%n) : memref<?xf32>
    %s = gpu.alloc host_shared (%n) : memref<?xf32>
    gpu.memcpy %m, %s : memref<?xf32>, memref<?xf32>
    gpu.launch_func @kernels::@anything clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) : i32 dynamic_shared_memory_size %c1 args(%m : memref<?xf32>)
    gpu.launch_func @kernels::@anything blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i32 args(%s : memref<?xf32>)
    gpu.dealloc %m : memref<?xf32>
    gpu.wait
    return
  }

  // An operation may take tokens and return none.
  // CHECK-LABEL: func.func @dependencies_only
  // CHECK-SAME: %[[T:.+]]: !async.token) -> (memref<7xf32, #gpu.address_space<global>>, !async.token)
  // CHECK: %[[M:.+]], %[[U:.+]] = gpux.alloc async [%[[T]]] ()
  // CHECK-NEXT: async.await %[[U]]
  // CHECK-NEXT: return %[[M]], %[[T]]
  func.func @dependencies_only(%t: !gpu.async.token) -> (memref<7xf32>, !gpu.async.token) {
    %m = gpu.alloc [%t] () : memref<7xf32>
    return %m, %t : memref<7xf32>, !gpu.async.token
  }

  // Within the host's memory, a copy is a task of the host.
  // CHECK-LABEL: func.func @host_to_host
  // CHECK: %[[T:.+]] = async.region [%{{.+}}] {
  // CHECK-NEXT: memref.copy %[[A:.+]], %[[B:.+]] : memref<8xf32> to memref<8xf32>
  // CHECK: async.await %[[T]]
  func.func @host_to_host(%t: !gpu.async.token) {
    %a = memref.alloc() : memref<8xf32>
    %b = memref.alloc() : memref<8xf32>
    %u = gpu.memcpy async [%t] %b, %a : memref<8xf32>, memref<8xf32>
    gpu.wait [%u]
    return
  }
}
