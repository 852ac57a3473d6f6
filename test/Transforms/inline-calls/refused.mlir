// Calls that have to go and can't.
//
// RUN: async-opt %s --split-input-file --gpux-inline-calls --verify-diagnostics

gpu.module @recursion {
  // expected-note @+1 {{the function is here: write it as a loop}}
  func.func private @even(%t: !async.token, %p: i1) {
    scf.if %p {
      func.call @odd(%t, %p) : (!async.token, i1) -> ()
    }
    return
  }
  func.func private @odd(%t: !async.token, %p: i1) {
    // expected-error @+1 {{'func.call' op calls @even, which takes or returns tokens and so has to be inlined, but it calls itself}}
    call @even(%t, %p) : (!async.token, i1) -> ()
    return
  }
  gpu.func @kernel(%p: i1) kernel {
    %t = async.ready
    func.call @even(%t, %p) : (!async.token, i1) -> ()
    gpu.return
  }
}

// -----

gpu.module @plain_recursion {
  // It has no tokens, and the hardware has a stack.
  func.func private @countdown(%n: i32) {
    %c0 = arith.constant 0 : i32
    %p = arith.cmpi ne, %n, %c0 : i32
    scf.if %p {
      func.call @countdown(%n) : (i32) -> ()
    }
    return
  }
  gpu.func @kernel(%n: i32) kernel {
    func.call @countdown(%n) : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @elsewhere {
  // expected-note @+1 {{the function is here: define it in this gpu.module}}
  func.func private @load() -> !async.token
  gpu.func @kernel() kernel {
    // expected-error @+1 {{'func.call' op calls @load, which takes or returns tokens and so has to be inlined, but its body is not here}}
    %t = func.call @load() : () -> !async.token
    async.await %t
    gpu.return
  }
}

// -----

gpu.module @by_value {
  gpu.func @kernel(%f: () -> !async.token) kernel {
    // expected-error @+2 {{'func.call_indirect' op has tokens, and what it calls is not known}}
    // expected-note @+1 {{call a function of this gpu.module by its name}}
    %t = func.call_indirect %f() : () -> !async.token
    async.await %t
    gpu.return
  }
}

// -----

gpu.module @marked {
  // expected-note @+1 {{the function is here: write its body where it is called}}
  func.func private @wait(%t: !async.token) attributes {no_inline} {
    async.await %t
    return
  }
  gpu.func @kernel() kernel {
    %t = async.ready
    // expected-error @+1 {{it is marked no_inline, or does not return}}
    func.call @wait(%t) : (!async.token) -> ()
    gpu.return
  }
}

// -----

gpu.module @blocks {
  // expected-note @+1 {{the function is here: run --lift-cf-to-scf first}}
  func.func private @wait(%t: !async.token, %p: i1) {
    cf.cond_br %p, ^wait, ^end
  ^wait:
    async.await %t
    cf.br ^end
  ^end:
    return
  }
  gpu.func @kernel(%p: i1) kernel {
    %t = async.ready
    scf.if %p {
      // expected-error @+1 {{its body has several blocks, and 'scf.if' can hold only one}}
      func.call @wait(%t, %p) : (!async.token, i1) -> ()
    }
    gpu.return
  }
}
