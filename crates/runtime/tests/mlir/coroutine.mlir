// A task that awaits in a loop, as a coroutine: it starts a task, awaits it, and so on, and adds what they deliver.
//
// mlir-runner %s -O0 -e main -entry-point-result=void -shared-libs=libasyncopt_rt.so

llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_frame(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_submit(!llvm.ptr)
llvm.func @asyncopt_rt_complete(!llvm.ptr)
llvm.func @asyncopt_rt_release(!llvm.ptr)
llvm.func @asyncopt_rt_state(!llvm.ptr) -> i32
llvm.func @asyncopt_rt_resume_after(!llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_fail_from(!llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_await_or_abort(!llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_shutdown()
llvm.func @printI64(i64)
llvm.func @printNewline()

llvm.func internal @one(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 {
  %one = llvm.mlir.constant(1 : i64) : i64
  %done = llvm.mlir.constant(0 : i32) : i32
  llvm.store %one, %frame : i64, !llvm.ptr
  llvm.return %done : i32
}

llvm.mlir.global internal constant @one_type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.zero : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %run = llvm.mlir.addressof @one : !llvm.ptr
  %eight = llvm.mlir.constant(8 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %eight, %1[3] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %3 = llvm.insertvalue %eight, %2[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %3 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

// One function resumes all coroutines.
llvm.func internal @resume(%handle: !llvm.ptr) {
  llvm.intr.coro.resume %handle : !llvm.ptr
  llvm.return
}

// The ramp: `run` of the task. It returns ASYNCOPT_RT_SUSPENDED in each case.
llvm.func internal @loop(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 attributes {passthrough = ["presplitcoroutine"]} {
  %false = llvm.mlir.constant(false) : i1
  %none = llvm.mlir.constant(0 : i32) : i32
  %suspended = llvm.mlir.constant(1 : i32) : i32
  %failed = llvm.mlir.constant(2 : i32) : i32
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %n = llvm.mlir.constant(100000 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %type = llvm.mlir.addressof @one_type : !llvm.ptr
  %resume = llvm.mlir.addressof @resume : !llvm.ptr
  %id = llvm.intr.coro.id %none, %null, %null, %null : (i32, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.token
  %size = llvm.intr.coro.size : i64
  %memory = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %handle = llvm.intr.coro.begin %id, %memory : (!llvm.token, !llvm.ptr) -> !llvm.ptr
  llvm.store %zero, %frame : i64, !llvm.ptr
  llvm.br ^header(%zero : i64)

^header(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^cleanup

^body:
  %t = llvm.call @asyncopt_rt_create(%type) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @asyncopt_rt_submit(%t) : (!llvm.ptr) -> ()
  // async.await %t
  %before = llvm.call @asyncopt_rt_state(%t) : (!llvm.ptr) -> i32
  %pending = llvm.icmp "eq" %before, %none : i32
  llvm.cond_br %pending, ^suspend, ^resumed

^suspend:
  %save = llvm.intr.coro.save %handle : (!llvm.ptr) -> !llvm.token
  llvm.call @asyncopt_rt_resume_after(%t, %handle, %resume) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  %why = llvm.intr.coro.suspend %save, %false : i8
  %wide = llvm.sext %why : i8 to i32
  llvm.switch %wide : i32, ^suspended [0: ^resumed, 1: ^cleanup]

^resumed:
  %after = llvm.call @asyncopt_rt_state(%t) : (!llvm.ptr) -> i32
  %error = llvm.icmp "eq" %after, %failed : i32
  llvm.cond_br %error, ^fail, ^add

^fail:
  llvm.call @asyncopt_rt_fail_from(%self, %t) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  llvm.br ^cleanup

^add:
  %of_t = llvm.call @asyncopt_rt_frame(%t) : (!llvm.ptr) -> !llvm.ptr
  %v = llvm.load %of_t : !llvm.ptr -> i64
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  %sum = llvm.load %frame : !llvm.ptr -> i64
  %sum_and_v = llvm.add %sum, %v : i64
  llvm.store %sum_and_v, %frame : i64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^header(%next : i64)

^cleanup:
  // %self is an argument, which the coroutine's frame has: it is read before that is freed.
  %to_free = llvm.intr.coro.free %id, %handle : (!llvm.token, !llvm.ptr) -> !llvm.ptr
  llvm.call @free(%to_free) : (!llvm.ptr) -> ()
  llvm.call @asyncopt_rt_complete(%self) : (!llvm.ptr) -> ()
  llvm.br ^suspended

^suspended:
  %no_token = llvm.mlir.none : !llvm.token
  %end = llvm.intr.coro.end %handle, %false, %no_token : (!llvm.ptr, i1, !llvm.token) -> i1
  llvm.return %suspended : i32
}

llvm.mlir.global internal constant @loop_type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.zero : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %run = llvm.mlir.addressof @loop : !llvm.ptr
  %eight = llvm.mlir.constant(8 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %eight, %1[3] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %3 = llvm.insertvalue %eight, %2[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %3 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

llvm.func @main() {
  %null = llvm.mlir.zero : !llvm.ptr
  %type = llvm.mlir.addressof @loop_type : !llvm.ptr
  %t = llvm.call @asyncopt_rt_create(%type) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @asyncopt_rt_submit(%t) : (!llvm.ptr) -> ()
  llvm.call @asyncopt_rt_await_or_abort(%t, %null) : (!llvm.ptr, !llvm.ptr) -> ()
  %frame = llvm.call @asyncopt_rt_frame(%t) : (!llvm.ptr) -> !llvm.ptr
  %sum = llvm.load %frame : !llvm.ptr -> i64
  llvm.call @printI64(%sum) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  llvm.call @asyncopt_rt_shutdown() : () -> ()
  llvm.return
}
