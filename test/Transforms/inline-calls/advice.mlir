// Where a token goes into a call, the remark says which pass would follow it.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups --verify-diagnostics

!Global = memref<64xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @helpers {
  func.func private @load(%src: !Global, %dst: !Buffer, %i: index) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
    // expected-remark @+1 {{the queue is drained before; run --gpux-inline-calls first to inline functions with tokens}}
    return %t : !async.token
  }
  func.func private @load_all(%src: !Global, %dst: !Buffer) -> !async.token {
    %t = gpux.bulk_load async %src, %dst : !Global to !Buffer
    // expected-remark @+1 {{it is awaited before; run --gpux-inline-calls first to inline functions with tokens}}
    return %t : !async.token
  }
  func.func private @wait(!async.token)
  gpu.func @kernel(%src: !Global, %dst: !Buffer, %i: index) kernel {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
    // expected-remark @+1 {{the queue is drained before; run --gpux-inline-calls first to inline functions with tokens}}
    func.call @wait(%t) : (!async.token) -> ()
    gpu.return
  }
}

// Outside of a gpu.module, nothing would.
func.func @host_side(%src: !Global, %dst: !Buffer, %i: index) -> !async.token {
  %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
  // expected-remark @+1 {{the queue is drained before}}
  return %t : !async.token
}
