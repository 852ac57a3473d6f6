//! What the analyses say of the smallest IR that shows it. Operations that are asked about have an attribute `here`.
#![allow(missing_docs)]

use async_dialects::completion::ExecutionScope;
use async_dialects::registry::register_all_dialects;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_passes::analysis::cfg::{RegionFlow, Target, unbound_operands};
use async_passes::analysis::memory::{Access, BufferOrigin, Effects, buffer_origin, effects};
use async_passes::analysis::uniformity::{Uniformity, may_diverge};
use async_passes::analysis::views::{base, is_left};

/// Parses `source` and asks `question` about the operations marked `here`, in order.
fn ask<T>(source: &str, question: impl Fn(Op<'_>) -> T) -> Vec<T> {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    context.set_allow_unregistered_dialects(true);
    let module = Module::parse(&context, source).expect("the test's IR parses");
    let ops = Op::from(module.as_operation()).self_and_nested();
    let marked: Vec<Op> = ops.into_iter().filter(|op| op.has_attr("here")).collect();
    assert!(!marked.is_empty(), "the test asks about something");
    marked.into_iter().map(question).collect()
}

/// The body of a kernel with buffers in each kind of memory.
fn in_kernel(body: &str) -> String {
    format!(
        "!shared = memref<64xf32, #gpu.address_space<workgroup>>
         memref.global @shared : !shared
         gpu.module @m {{
           memref.global @global : memref<64xf32>
           func.func private @callee(memref<64xf32>)
           gpu.func @kernel(%arg: memref<64xf32>, %n: index, %condition: i1, %token: !async.token)
               workgroup(%tile: !shared) private(%own: memref<4xf32, #gpu.address_space<private>>) kernel {{
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             {body}
             gpu.return
           }}
         }}"
    )
}

// Control flow.

/// Where edges lead: `body` to a block, `after` out of the operation; those that can't be taken in parentheses.
fn targets(flow: &RegionFlow<'_>) -> String {
    let entries = flow.entries();
    let names = entries.iter().map(|edge| {
        let name = match edge.to {
            Target::Block(_) => "body",
            Target::After => "after",
        };
        if edge.possible {
            name.to_owned()
        } else {
            format!("({name})")
        }
    });
    names.collect::<Vec<String>>().join(" ")
}

#[test]
fn edges_are_those_of_the_interface() {
    let source = in_kernel(
        "scf.if %condition { } {here}
         scf.for %i = %c0 to %n step %c1 { } {here}
         %false = arith.constant false
         scf.if %false { } {here}
         scf.execute_region { scf.yield } {here}",
    );
    let found = ask(&source, |op| targets(&RegionFlow::new(op)));
    assert_eq!(found, ["body after", "body after", "(body) after", "body"]);
}

#[test]
fn what_is_not_known_leads_anywhere() {
    let source = in_kernel(
        "\"test.op\"() ({ \"test.end\"() : () -> () }, { \"test.end\"() : () -> () }) {here} : () -> ()
         scf.forall (%i) in (32) { } {here}",
    );
    let found = ask(&source, |op| {
        let flow = RegionFlow::new(op);
        (flow.known_entries().is_none(), targets(&flow))
    });
    // What `scf.forall` says of its control flow is about all threads together.
    assert_eq!(found[0], (true, "body body after".to_owned()));
    assert_eq!(found[1], (true, "body after".to_owned()));
}

#[test]
fn a_loop_binds_what_it_carries() {
    let source = in_kernel(
        "%last = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %token) -> (!async.token) {
           scf.yield %carried : !async.token
         } {here}",
    );
    let found = ask(&source, |op| {
        let flow = RegionFlow::new(op);
        let entries = flow.entries();
        let to: Vec<Value> = entries.iter().map(|edge| edge.bindings[0].1).collect();
        let body = op.region(0).first().expect("a loop has a body");
        let exits = flow.exits(body.terminator());
        (
            to == [body.arg(1), op.result(0)],
            exits.len(),
            // The bounds steer, and only the token is handed over.
            unbound_operands(op, &entries),
        )
    });
    assert_eq!(found, [(true, 2, vec![0, 1, 2])]);
}

#[test]
fn branches_lead_to_their_blocks() {
    let source = "func.func @f(%c: i1, %t: !async.token) {
       cf.cond_br %c, ^a(%t : !async.token), ^b {here}
     ^a(%u: !async.token):
       return {here}
     ^b:
       return {here}
     }";
    let found = ask(source, |op| {
        let flow = RegionFlow::of_function(op.parent().expect("in a function"));
        let exits = flow.exits(Some(op));
        let bound = exits.iter().map(|edge| edge.bindings.len()).collect::<Vec<_>>();
        (
            exits.iter().filter(|edge| edge.to != Target::After).count(),
            bound,
        )
    });
    assert_eq!(found, [(2, vec![1, 0]), (0, vec![0]), (0, vec![0])]);
}

// Memory.

/// What `op` accesses: the buffers' origins with `r`, `w`, `ar`, `aw` for asynchronous accesses, and `f` for the end.
fn accesses(op: Op<'_>) -> String {
    let Effects::Known(effects) = effects(op) else {
        return "anything".to_owned();
    };
    let names = effects.iter().map(|effect| {
        let access = match effect.access {
            Access::Read => "r",
            Access::Write => "w",
            Access::AsyncRead => "ar",
            Access::AsyncWrite => "aw",
            Access::Free => "f",
        };
        format!("{access} {}", origin_of(effect.memory))
    });
    names.collect::<Vec<String>>().join(", ")
}

fn origin_of(memory: Value<'_>) -> &'static str {
    match buffer_origin(base(memory)) {
        BufferOrigin::Allocation => "allocation",
        BufferOrigin::Attribution(_) => "attribution",
        BufferOrigin::Global(_) => "global",
        BufferOrigin::Argument(_) => "argument",
        BufferOrigin::Dynamic => "dynamic",
        BufferOrigin::Unknown => "unknown",
    }
}

#[test]
fn operations_access_what_they_say() {
    let source = in_kernel(
        "%x = memref.load %arg[%c0] {here} : memref<64xf32>
         memref.store %x, %tile[%c0] {here} : !shared
         %m = memref.alloc() : memref<16x16xf16>
         %f = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 16 : index, here}
           : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, \"AOp\">
         memref.dealloc %m {here} : memref<16x16xf16>
         %v = vector.load %own[%c0] {here} : memref<4xf32, #gpu.address_space<private>>, vector<4xf32>
         memref.copy %arg, %arg {here} : memref<64xf32> to memref<64xf32>
         gpu.barrier {here}
         scf.if %condition { } {here}",
    );
    assert_eq!(
        ask(&source, accesses),
        [
            "r argument",
            "w attribution",
            "r allocation",
            "f allocation",
            "r attribution",
            "r argument, w argument",
            "",
            ""
        ]
    );
}

#[test]
fn copies_access_asynchronously() {
    let source = in_kernel(
        "%a = nvgpu.device_async_copy %arg[%c0], %tile[%c0], 4 {here} : memref<64xf32> to !shared
         %b = gpux.copy async %arg[%c0], %tile[%c0], 4 {here} : memref<64xf32> to !shared
         nvgpu.device_async_wait %a {here}",
    );
    let copy = "ar argument, aw attribution";
    assert_eq!(ask(&source, accesses), [copy, copy, ""]);
}

#[test]
fn what_says_nothing_may_access_anything() {
    let source = in_kernel(
        "func.call @callee(%arg) {here} : (memref<64xf32>) -> ()
         \"test.op\"(%arg) {here} : (memref<64xf32>) -> ()",
    );
    assert_eq!(ask(&source, accesses), ["anything", "anything"]);
}

#[test]
fn views_and_addresses_lead_to_their_buffer() {
    let source = in_kernel(
        "%row = memref.subview %tile[%n] [4] [1] : !shared to memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
         %a = memref.load %row[%c0] {here} : memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
         %number = memref.extract_aligned_pointer_as_index %arg : memref<64xf32> -> index
         %bits = arith.index_cast %number : index to i64
         %pointer = llvm.inttoptr %bits : i64 to !llvm.ptr
         %b = llvm.load %pointer {here} : !llvm.ptr -> f32
         %global = memref.get_global @global : memref<64xf32>
         %c = memref.load %global[%c0] {here} : memref<64xf32>
         %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
         %view = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !shared
         %d = memref.load %view[%c0] {here} : !shared
         %chosen = arith.select %condition, %arg, %global : memref<64xf32>
         %e = memref.load %chosen[%c0] {here} : memref<64xf32>",
    );
    assert_eq!(
        ask(&source, accesses),
        [
            "r attribution",
            "r argument",
            "r global",
            "r dynamic",
            "r unknown"
        ]
    );
}

#[test]
fn views_that_are_left_may_be_anywhere_in_their_buffer() {
    let source = in_kernel(
        "%row = memref.subview %arg[4] [4] [1] {here} : memref<64xf32> to memref<4xf32, strided<[1], offset: 4>>
         %cast = memref.reinterpret_cast %row to offset: [0], sizes: [4], strides: [1] {here}
             : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
         %part = memref.subview %cast[0] [2] [1] {here} : memref<4xf32> to memref<2xf32, strided<[1]>>
         %start, %offset, %size, %stride = memref.extract_strided_metadata %row
             : memref<4xf32, strided<[1], offset: 4>> -> memref<f32>, index, index, index
         %same = memref.cast %start {here} : memref<f32> to memref<f32, strided<[], offset: ?>>
         %number = memref.extract_aligned_pointer_as_index %row : memref<4xf32, strided<[1], offset: 4>> -> index
         %bits = arith.index_cast %number {here} : index to i64",
    );
    let found = ask(&source, |op| is_left(op.result(0)));
    assert_eq!(found, [false, true, true, true, true]);
}

// Uniformity.

#[test]
fn threads_differ_in_what_depends_on_them() {
    let source = in_kernel(
        "%t = gpu.thread_id x
         %b = gpu.block_id x
         %by_thread = arith.cmpi ult, %t, %n : index
         %by_block = arith.cmpi ult, %b, %n : index
         scf.if %condition { } {here}
         scf.if %by_thread { } {here}
         scf.if %by_block { } {here}
         scf.for %i = %t to %n step %c1 { } {here}
         %number = arith.index_cast %t : index to i32
         %total = gpu.all_reduce add %number {} : (i32) -> (i32)
         %sum = arith.index_cast %total : i32 to index
         scf.for %i = %c0 to %sum step %c1 { } {here}
         %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t) -> (index) {
           scf.for %j = %c0 to %x step %c1 { } {here}
           scf.yield %x : index
         }",
    );
    assert_eq!(ask(&source, may_diverge), [false, true, false, true, false, true]);
}

#[test]
fn threads_of_a_function_that_others_call_may_differ_in_its_arguments() {
    let source = "func.func @f(%c: i1) {
       scf.if %c { } {here}
       return
     }";
    assert_eq!(ask(source, may_diverge), [true]);
}

#[test]
fn operations_of_all_threads_stand_where_all_come() {
    let source = in_kernel(
        "%t = gpu.thread_id x
         %by_thread = arith.cmpi ult, %t, %n : index
         scf.if %condition { gpu.barrier {here} }
         scf.if %by_thread { gpu.barrier {here} }
         scf.forall (%i) in (32) { gpu.barrier {here} }",
    );
    let found = ask(&source, |op| {
        Uniformity::of(ExecutionScope::Block).check(op).is_ok()
    });
    assert_eq!(found, [true, false, false]);
}
