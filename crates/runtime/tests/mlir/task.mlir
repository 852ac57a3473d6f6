// Two tasks in the LLVM dialect, as docs/runtime.md describes: the second reads the result of the first from its frame.
//
// mlir-runner %s -O0 -e main -entry-point-result=void -shared-libs=libasyncopt_rt.so

llvm.func @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_frame(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_depend(!llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_submit(!llvm.ptr)
llvm.func @asyncopt_rt_release(!llvm.ptr)
llvm.func @asyncopt_rt_await_or_abort(!llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_shutdown()
llvm.func @printI64(i64)
llvm.func @printNewline()

// %t, %v = async.region -> (i64) { yield %x + 1 }: the capture %x, then the result.
llvm.func internal @increment(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 {
  %one = llvm.mlir.constant(1 : i64) : i64
  %done = llvm.mlir.constant(0 : i32) : i32
  %x = llvm.load %frame : !llvm.ptr -> i64
  %v = llvm.add %x, %one : i64
  %result = llvm.getelementptr inbounds %frame[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  llvm.store %v, %result : i64, !llvm.ptr
  llvm.return %done : i32
}

llvm.mlir.global internal constant @increment_type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %null = llvm.mlir.zero : !llvm.ptr
  %run = llvm.mlir.addressof @increment : !llvm.ptr
  %size = llvm.mlir.constant(16 : i64) : i64
  %align = llvm.mlir.constant(8 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %null, %1[1] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %3 = llvm.insertvalue %null, %2[2] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %4 = llvm.insertvalue %size, %3[3] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %5 = llvm.insertvalue %align, %4[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %6 = llvm.insertvalue %null, %5[5] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %6 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

// async.region [%t] { print %v }: captures the token of the first, whose frame has %v.
llvm.func internal @print(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 {
  %done = llvm.mlir.constant(0 : i32) : i32
  %first = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %of_first = llvm.call @asyncopt_rt_frame(%first) : (!llvm.ptr) -> !llvm.ptr
  %result = llvm.getelementptr inbounds %of_first[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %v = llvm.load %result : !llvm.ptr -> i64
  llvm.call @asyncopt_rt_release(%first) : (!llvm.ptr) -> ()
  llvm.call @printI64(%v) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.return %done : i32
}

// If the first fails, this runs in the place of @print.
llvm.func internal @skip_print(%frame: !llvm.ptr) {
  %first = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  llvm.call @asyncopt_rt_release(%first) : (!llvm.ptr) -> ()
  llvm.return
}

llvm.mlir.global internal constant @print_type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %null = llvm.mlir.zero : !llvm.ptr
  %run = llvm.mlir.addressof @print : !llvm.ptr
  %skip = llvm.mlir.addressof @skip_print : !llvm.ptr
  %size = llvm.mlir.constant(8 : i64) : i64
  %align = llvm.mlir.constant(8 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %skip, %1[1] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %3 = llvm.insertvalue %null, %2[2] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %4 = llvm.insertvalue %size, %3[3] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %5 = llvm.insertvalue %align, %4[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %6 = llvm.insertvalue %null, %5[5] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %6 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

llvm.func @main() {
  %x = llvm.mlir.constant(41 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %increment = llvm.mlir.addressof @increment_type : !llvm.ptr
  %print = llvm.mlir.addressof @print_type : !llvm.ptr

  %t = llvm.call @asyncopt_rt_create(%increment) : (!llvm.ptr) -> !llvm.ptr
  %frame = llvm.call @asyncopt_rt_frame(%t) : (!llvm.ptr) -> !llvm.ptr
  llvm.store %x, %frame : i64, !llvm.ptr
  llvm.call @asyncopt_rt_submit(%t) : (!llvm.ptr) -> ()

  // The reference to %t that create has returned goes to the captures of the second.
  %u = llvm.call @asyncopt_rt_create(%print) : (!llvm.ptr) -> !llvm.ptr
  %of_u = llvm.call @asyncopt_rt_frame(%u) : (!llvm.ptr) -> !llvm.ptr
  llvm.store %t, %of_u : !llvm.ptr, !llvm.ptr
  llvm.call @asyncopt_rt_depend(%u, %t) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @asyncopt_rt_submit(%u) : (!llvm.ptr) -> ()

  llvm.call @asyncopt_rt_await_or_abort(%u, %null) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @asyncopt_rt_release(%u) : (!llvm.ptr) -> ()
  // mlir-runner unloads this code before the process ends.
  llvm.call @asyncopt_rt_shutdown() : () -> ()
  llvm.return
}
