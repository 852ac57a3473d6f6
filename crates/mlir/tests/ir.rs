//! Rewriting IR through the handles of `async_mlir::ir`.
#![allow(missing_docs)]

use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Definition, Mapping, Op, OpBuilder, Value, Walk, int_attr, str_attr};
use async_mlir::location::position;
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::{Module, Type};
use async_mlir::melior::utility::register_all_dialects;
use async_mlir::names;
use async_mlir::registry::unknown_names;

fn context() -> Context {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    context.set_allow_unregistered_dialects(true);
    context
}

/// Parses `source` and hands its operation of that name to `check`.
fn with_op(source: &str, name: &str, check: impl for<'c> FnOnce(&Module<'c>, Op<'c>)) {
    let context = context();
    let module = Module::parse(&context, source).expect("the test's IR parses");
    let root = Op::from(module.as_operation());
    let op = root
        .self_and_nested()
        .into_iter()
        .find(|op| op.is(name))
        .expect("the test's IR has that operation");
    check(&module, op);
}

#[test]
fn operations_tell_what_they_are_made_of() {
    let source = "func.func @f(%a: i32) {\n  %0:2 = \"test.op\"(%a, %a) {n = 3 : i64, s = \"x\", b = true} : (i32, i32) -> (i32, f32)\n  return\n}";
    with_op(source, "test.op", |_, op| {
        assert_eq!(op.name(), "test.op");
        assert_eq!((op.num_operands(), op.num_results(), op.num_regions()), (2, 2, 0));
        assert_eq!(
            (op.int_attr("n"), op.str_attr("s"), op.bool_attr("b")),
            (Some(3), Some("x"), Some(true))
        );
        assert_eq!((op.int_attr("s"), op.int_attr("none")), (None, None));
        assert_eq!(op.result(1).ty().to_string(), "f32");
        assert!(op.parent().is_some_and(Op::is_function));
        assert!(
            matches!(op.operand(0).definition(), Definition::Argument(block, 0) if Some(block) == op.block())
        );
        assert_eq!(op.operand(0).uses().len(), 2);
        assert!(op.next().is_some_and(Op::is_terminator));
        assert_eq!(op.prev(), None);
        assert_eq!(op.location().to_string(), "loc(\"-\":2:10)");
    });
}

#[test]
fn operations_are_built_moved_replaced_and_erased() {
    let source = "func.func @f(%a: i32) -> i32 {\n  %0 = \"test.op\"(%a) {keep = 1 : i64} : (i32) -> i32\n  return %0 : i32\n}";
    with_op(source, "test.op", |module, op| {
        let context = op.context();
        let new = OpBuilder::new("test.new", op.location())
            .operands(&[op.operand(0)])
            .results(&[Type::parse(context, "i32").unwrap()])
            .attr("added", str_attr(context, "yes"))
            .regions(1)
            .after(op);
        new.copy_discardable_attrs(op);
        let block = Block::new(&[]);
        new.region(0).append(block);
        OpBuilder::new("test.end", op.location()).at_end(block);
        OpBuilder::new("test.start", op.location()).at_start(block);
        op.replace_with(&[new.result(0)]);
        new.set_attr("keep", int_attr(context, 64, 2));
        assert!(new.remove_attr("added") && !new.remove_attr("added"));

        let names: Vec<_> = Op::from(module.as_operation())
            .self_and_nested()
            .iter()
            .map(|op| op.name())
            .collect();
        assert_eq!(
            names,
            [
                "builtin.module",
                "func.func",
                "test.new",
                "test.start",
                "test.end",
                "func.return"
            ]
        );
        assert_eq!(new.int_attr("keep"), Some(2));
        assert!(new.verify());
    });
}

#[test]
#[should_panic(expected = "`test.op` is erased while its results are in use")]
fn operations_in_use_are_not_erased() {
    let source = "func.func @f() -> i32 {\n  %0 = \"test.op\"() : () -> i32\n  return %0 : i32\n}";
    with_op(source, "test.op", |_, op| op.erase());
}

#[test]
fn clones_use_what_the_mapping_says() {
    let source = "func.func @f(%a: i32, %b: i32) {\n  \"test.op\"(%a) ({\n    \"test.in\"(%a) : (i32) -> ()\n  }) : (i32) -> ()\n  return\n}";
    with_op(source, "test.op", |_, op| {
        let block = op.block().unwrap();
        let mut mapping = Mapping::new();
        mapping.map(block.arg(0), block.arg(1));
        let clone = op.clone_mapped(&mut mapping);
        clone.move_after(op);
        let operands: Vec<Value> = clone.self_and_nested().iter().map(|op| op.operand(0)).collect();
        assert_eq!(operands, [block.arg(1), block.arg(1)]);
        assert_eq!(op.operand(0), block.arg(0));
    });
}

#[test]
fn walks_may_erase_skip_and_stop() {
    let source = "func.func @f() {\n  \"test.a\"() : () -> ()\n  \"test.b\"() ({\n    \"test.c\"() : () -> ()\n  }) : () -> ()\n  \"test.a\"() : () -> ()\n  return\n}";
    with_op(source, "func.func", |_, function| {
        let mut seen = Vec::new();
        function.walk(|op| {
            seen.push(op.name());
            match op.name() {
                "test.a" => {
                    op.erase();
                    Walk::Skip
                }
                "test.b" => Walk::Skip,
                "func.return" => Walk::Stop,
                _ => Walk::Advance,
            }
        });
        assert_eq!(seen, ["func.func", "test.a", "test.b", "test.a", "func.return"]);
        assert_eq!(function.self_and_nested().len(), 4);
    });
}

#[test]
fn blocks_split_merge_and_branch() {
    let source = "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n^a:\n  \"test.op\"() : () -> ()\n  cf.br ^b\n^b:\n  return\n}";
    with_op(source, "test.op", |_, op| {
        let block = op.block().unwrap();
        let (region, last) = (block.region().unwrap(), block.next().unwrap());
        assert_eq!((region.blocks().len(), last.predecessors().len()), (3, 2));

        let rest = block.split_before(op);
        assert_eq!(
            (region.blocks().len(), block.ops().len(), rest.ops().len()),
            (4, 0, 2)
        );
        rest.move_ops_to(block);
        rest.erase();
        assert_eq!((region.blocks().len(), block.ops().len()), (3, 2));

        let branch = block.terminator().unwrap();
        branch.set_successor(0, block);
        assert_eq!(branch.successors().next(), Some(block));
    });
}

#[test]
fn operations_know_their_context_among_others() {
    // Contexts come and go, and some at the address of one that went.
    for _ in 0..4 {
        let contexts = [context(), context()];
        let modules = contexts
            .each_ref()
            .map(|context| Module::parse(context, "").unwrap());
        for _ in 0..2 {
            for (context, module) in contexts.iter().zip(&modules) {
                assert_eq!(Op::from(module.as_operation()).context(), context);
            }
        }
    }
}

#[test]
fn constants_are_known() {
    let source = "func.func @f(%a: index) {\n  %0 = arith.constant 7 : index\n  \"test.op\"(%0, %a) : (index, index) -> ()\n  return\n}";
    with_op(source, "test.op", |_, op| {
        assert_eq!(op.operand(0).as_constant_int(), Some(7));
        assert_eq!(op.operand(1).as_constant_int(), None);
        assert!(op.operand(0).defining_op().is_some_and(Op::is_pure));
    });
}

#[test]
fn names_are_those_that_mlir_knows() {
    let context = context();
    context.load_all_available_dialects();
    let unknown = unknown_names(&context, names::OPERATIONS, names::ATTRIBUTES);
    assert!(unknown.is_empty(), "MLIR does not know {unknown:?}");
    let wrong = unknown_names(&context, &["arith.adi"], &[("step", &["scf.for"])]);
    assert_eq!(wrong, ["arith.adi", "step of scf.for"]);
}

#[test]
fn predicates_are_those_of_mlir() {
    for (predicate, keyword) in Predicate::ALL {
        let source =
            format!("func.func @f(%a: i32) {{\n  %0 = arith.cmpi {keyword}, %a, %a : i32\n  return\n}}");
        with_op(&source, names::arith::CMPI, |_, op| {
            assert_eq!(
                op.attr(names::attr::PREDICATE),
                Some(predicate.attribute(op.context()))
            );
        });
    }
}

#[test]
fn locations_lead_to_files() {
    let places = [
        ("loc(\"f.mlir\":12:8)", Some(("f.mlir", 12, 8))),
        ("loc(\"f.mlir\":12:8 to :14)", Some(("f.mlir", 12, 8))),
        ("loc(\"f.mlir\":12:8 to 14:3)", Some(("f.mlir", 12, 8))),
        ("loc(\"name\"(\"f.mlir\":1:2))", Some(("f.mlir", 1, 2))),
        (
            "loc(callsite(\"callee.mlir\":1:2 at \"caller.mlir\":3:4))",
            Some(("caller.mlir", 3, 4)),
        ),
        (
            "loc(fused[\"f.mlir\":1:2, \"g.mlir\":3:4])",
            Some(("g.mlir", 3, 4)),
        ),
        ("loc(\"a \\\": quote\"(\"f.mlir\":5:6))", Some(("f.mlir", 5, 6))),
        ("loc(\"name\")", None),
        ("loc(unknown)", None),
    ];
    for (location, expected) in places {
        let source = format!("func.func @f() {{\n  \"test.op\"() : () -> () {location}\n  return\n}}");
        with_op(&source, "test.op", |_, op| {
            let found = position(op.location()).map(|place| (place.file, place.line, place.column));
            assert_eq!(found, expected, "{location}");
        });
    }
}
