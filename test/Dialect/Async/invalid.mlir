// RUN: async-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @region_with_argument() {
  // expected-error @+1 {{'async.region' op body takes no arguments: it uses the values of the enclosing scope directly}}
  %t = "async.region"() ({
  ^bb0(%x: f32):
    async.yield
  }) : () -> !async.token
  return
}

// -----

func.func @region_returns_token(%u: !async.token) {
  // expected-error @+1 {{'async.region' op can't return a token as value #0: yield it after the values, where it delays the region's own token}}
  %t, %v = async.region -> (!async.token) {
    async.yield %u : !async.token
  }
  return
}

// -----

func.func @region_with_other_terminator(%v: f32) {
  // expected-error @+2 {{'async.region' op expects regions to end with 'async.yield', found 'test.end'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'async.yield'}}
  %t = "async.region"() ({
    "test.end"() : () -> ()
  }) : () -> !async.token
  return
}

// -----

func.func @region_with_two_blocks() {
  // expected-error @+1 {{'async.region' op expects region #0 to have 0 or 1 blocks}}
  %t = async.region {
    cf.br ^bb1
  ^bb1:
    async.yield
  }
  return
}

// -----

func.func @dependency_is_no_token(%x: f32) {
  // expected-error @+1 {{'async.region' op operand #0 must be variadic of async token, but got 'f32'}}
  %t = "async.region"(%x) ({
    async.yield
  }) : (f32) -> !async.token
  return
}

// -----

func.func @first_result_is_no_token(%x: f32) {
  // expected-error @+1 {{'async.region' op result #0 must be async token, but got 'f32'}}
  %v = "async.region"() ({
    async.yield %x : f32
  }) : () -> f32
  return
}

// -----

func.func @yield_too_many(%x: f32) {
  %t = async.region {
    // expected-error @+1 {{'async.yield' op yields 1 values, but the region returns 0: list the types of the yielded values after '->' of the async.region}}
    async.yield %x : f32
  }
  return
}

// -----

func.func @yield_too_few(%u: !async.token) {
  %t, %v = async.region -> (f32) {
    // expected-error @+1 {{'async.yield' op yields 0 values, but the region returns 1}}
    async.yield %u : !async.token
  }
  return
}

// -----

func.func @yield_of_other_type(%x: f32) {
  %t, %v = async.region -> (i32) {
    // expected-error @+1 {{'async.yield' op yields 'f32' as value #0, but the region returns 'i32'}}
    async.yield %x : f32
  }
  return
}

// -----

func.func @yield_token_before_value(%u: !async.token, %x: f32) {
  %t, %v = async.region -> (f32) {
    // expected-error @+1 {{'async.yield' op yields a token as operand #0 and values after it: tokens go last, where they delay the completion of the region}}
    async.yield %u, %x : !async.token, f32
  }
  return
}

// -----

func.func @yield_outside() {
  // expected-error @+1 {{'async.yield' op expects parent op to be one of 'async.region, async.func'}}
  async.yield
}

// -----

async.func @function_yields_too_few(%m: memref<8xf32>) -> (memref<8xf32>, !async.token) {
  // expected-error @+1 {{'async.yield' op yields 1 values, but async.func @function_yields_too_few returns 2: yield the function's results, its token included (async.join makes one token of several)}}
  async.yield %m : memref<8xf32>
}

// -----

async.func @function_yields_other_type(%m: memref<8xf32>) -> !async.token {
  // expected-error @+1 {{'async.yield' op yields 'memref<8xf32>' as value #0, but async.func @function_yields_other_type returns '!async.token'}}
  async.yield %m : memref<8xf32>
}

// -----

// expected-error @+1 {{symbol declaration cannot have public visibility}}
async.func @public_declaration(f32) -> !async.token

// -----

func.func @await_of_value(%x: f32) {
  // expected-error @+1 {{'async.await' op operand #0 must be variadic of async token, but got 'f32'}}
  "async.await"(%x) : (f32) -> ()
  return
}

// -----

func.func @call_unknown() {
  // expected-error @+1 {{'async.call' op calls @missing, but no async.func of that name is in scope}}
  %t = async.call @missing() : () -> !async.token
  return
}

// -----

// expected-note @+1 {{it is this 'func.func'; call it by its own dialect}}
func.func private @sync()

func.func @call_sync() {
  // expected-error @+1 {{'async.call' op calls @sync, which is not an async.func}}
  async.call @sync() : () -> ()
  return
}

// -----

async.func private @callee(f32) -> (f32, !async.token)

func.func @call_with_too_few_operands() {
  // expected-error @+1 {{'async.call' op passes 0 operands, but async.func @callee takes 1}}
  %v, %t = async.call @callee() : () -> (f32, !async.token)
  return
}

// -----

async.func private @callee(f32) -> (f32, !async.token)

func.func @call_with_other_operand(%x: i32) {
  // expected-error @+1 {{'async.call' op passes 'i32' as operand #0, but async.func @callee takes 'f32'}}
  %v, %t = async.call @callee(%x) : (i32) -> (f32, !async.token)
  return
}

// -----

async.func private @callee(f32) -> (f32, !async.token)

func.func @call_without_token(%x: f32) {
  // expected-error @+1 {{'async.call' op expects 1 results, but async.func @callee returns 2}}
  %v = async.call @callee(%x) : (f32) -> f32
  return
}

// -----

async.func private @callee(f32) -> (f32, !async.token)

func.func @call_with_other_result(%x: f32) {
  // expected-error @+1 {{'async.call' op expects 'i32' as result #0, but async.func @callee returns 'f32'}}
  %v, %t = async.call @callee(%x) : (f32) -> (i32, !async.token)
  return
}

// -----

func.func @token_from_itself() {
  // expected-error @+2 {{operand #0 does not dominate this use}}
  // expected-note @+1 {{operand defined here}}
  %t = async.region [%t] {
  }
  return
}

// -----

// expected-error @+1 {{expected 'token', the only type of the async dialect}}
func.func private @unknown_type(!async.value)

// -----

func.func @await_of_another_type(%t: !async.token) {
  // expected-error @+1 {{expected '!async.token'}}
  async.await %t : i32
  return
}

// -----

func.func @status_of_operation() {
  // expected-error @below {{'async.ready' op attribute 'async.returns_status' has no value and belongs on a function}}
  %t = async.ready {async.returns_status}
  return
}
