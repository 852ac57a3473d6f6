//! `--async-outline`: outlines the body of each region into a function.
//!
//! **Condition.** Host code.
//!
//! **Effect.** Each `async.region` outside of device code calls one private function, which nothing else calls, and yields what that returns:
//! values, and then the tokens that delay it. Inside of the function, control flow need not be structured, as it has to be in a region. Constants are made
//! in the function, and views of what a region yields where they are used; what else a region uses of the code around it are arguments. `async.func`
//! and `async.call` become `func.func` and `func.call`, which mean the same.
//!
//! **Refusals.** None.

use async_dialects::names::async_;
use async_dialects::registry::GPUX;
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Region, Use, Value, Walk, str_attr};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::{FlatSymbolRefAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::names::{attr, builtin, func, gpu};
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub struct AsyncOutline;

impl Pass for AsyncOutline {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_outline/description.md"),
        // Not on functions: it makes others.
        anchor: Anchor::Ops(&[builtin::MODULE]),
        dependent_dialects: &[GPUX, Dialect::FUNC],
        ..PassInfo::new(
            "async-outline",
            "moves the bodies of host regions to functions of their own",
        )
    };

    fn run<'c>(root: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut regions = Vec::new();
        let mut functions = Vec::new();
        root.walk(|op| {
            match op.name() {
                gpu::MODULE | gpu::LAUNCH => return Walk::Skip,
                async_::REGION => regions.push(op),
                async_::FUNC | async_::CALL => functions.push(op),
                _ => {}
            }
            Walk::Advance
        });
        move_views_to_uses(root);
        let mut names = Names::default();
        let mut named = Vec::new();
        for region in regions {
            let function = region.ancestors().find(|op| op.is_function());
            if let Some((function, table)) =
                function.and_then(|function| Some((function, function.parent()?)))
            {
                named.push((region, function, names.unused(table, function)));
            }
        }
        // What is nested first: then it is but a call in the region around it.
        for (region, function, name) in named.into_iter().rev() {
            outline(region, function, &name);
        }
        for op in functions.into_iter().rev() {
            if op.is(async_::FUNC) {
                to_plain_function(op);
            } else {
                to_plain_call(op);
            }
        }
        Ok(())
    }
}

/// Makes views of what a region yields where they are used. There, the token of the region is complete; where the program makes them, it need not be,
/// and the address that they are computed from is not known yet.
fn move_views_to_uses(root: Op<'_>) {
    let mut views = Vec::new();
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
            return Walk::Skip;
        }
        if is_view_of_region(op) {
            views.push(op);
        }
        Walk::Advance
    });
    // Views of views first: their copies use the others.
    for view in views.into_iter().rev() {
        for (number, result) in view.results().enumerate() {
            for Use { owner: user, index } in result.uses() {
                let copy = view.clone_mapped(&mut Mapping::new());
                copy.move_before(user);
                user.set_operand(index, copy.result(number));
            }
        }
        view.erase();
    }
}

/// Returns true if `op` makes a view of what a region yields, or a view of such a view.
fn is_view_of_region(op: Op<'_>) -> bool {
    let mut source = op.view_source().filter(|_| op.is_pure());
    while let Some(value) = source {
        let Some(defining) = value.defining_op() else {
            return false;
        };
        if defining.is(async_::REGION) {
            return true;
        }
        source = defining.view_source();
    }
    false
}

/// The symbols of each symbol table, and how many regions of each function have a name.
#[derive(Default)]
struct Names<'c> {
    taken: FxHashMap<Op<'c>, FxHashSet<String>>,
    numbers: FxHashMap<Op<'c>, usize>,
}

impl<'c> Names<'c> {
    /// A name for a region of `function` that no other symbol in `table` has.
    fn unused(&mut self, table: Op<'c>, function: Op<'c>) -> String {
        let taken = self.taken.entry(table).or_insert_with(|| {
            let ops = table.regions().flat_map(Region::blocks).flat_map(Block::ops);
            ops.filter_map(|op| op.str_attr(attr::SYM_NAME).map(str::to_owned))
                .collect()
        });
        let base = function.str_attr(attr::SYM_NAME).unwrap_or("function");
        let number = self.numbers.entry(function).or_default();
        loop {
            let name = format!("{base}_task{number}");
            *number += 1;
            if taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Moves the body of `region`, which is in `function`, to a function of its own.
fn outline<'c>(region: Op<'c>, function: Op<'c>, name: &str) {
    let Some(body) = region.region(0).first() else {
        return;
    };
    let (context, location) = (region.context(), region.location());
    let captures = Captures::of(region);
    let yielded: Vec<Value> = body
        .terminator()
        .map_or(Vec::new(), |end| end.operands().collect());
    let types: Vec<Type> = yielded.iter().map(|value| value.ty()).collect();
    let arguments: Vec<_> = captures
        .values
        .iter()
        .map(|value| (value.ty(), location))
        .collect();
    let inputs: Vec<Type> = arguments.iter().map(|(ty, _)| *ty).collect();
    let task = OpBuilder::new(func::FUNC, location)
        .attr(attr::SYM_NAME, str_attr(context, name))
        .attr(
            attr::FUNCTION_TYPE,
            TypeAttribute::new(FunctionType::new(context, &inputs, &types).into()).into(),
        )
        .attr(attr::SYM_VISIBILITY, str_attr(context, "private"))
        .regions(1)
        .after(function);
    let entry = Block::new(&arguments);
    task.region(0).append(entry);
    for op in body.ops() {
        op.move_to_end(entry);
    }
    captures.replace(entry);
    if let Some(end) = entry.terminator() {
        let values: Vec<Value> = end.operands().collect();
        let end_location = end.location();
        end.erase();
        OpBuilder::new(func::RETURN, end_location)
            .operands(&values)
            .at_end(entry);
    }
    let call = OpBuilder::new(func::CALL, location)
        .operands(&captures.values)
        .results(&types)
        .attr(attr::CALLEE, FlatSymbolRefAttribute::new(context, name).into())
        .at_end(body);
    let results: Vec<Value> = call.results().collect();
    OpBuilder::new(async_::YIELD, location)
        .operands(&results)
        .at_end(body);
}

/// What a region uses of the code around it.
struct Captures<'c> {
    /// The values, in the order of their first uses; constants are not among them.
    values: Vec<Value<'c>>,
    constants: Vec<Value<'c>>,
}

impl<'c> Captures<'c> {
    fn of(region: Op<'c>) -> Self {
        let mut captures = Self {
            values: Vec::new(),
            constants: Vec::new(),
        };
        let mut known = FxHashSet::default();
        for value in region
            .self_and_nested()
            .into_iter()
            .skip(1)
            .flat_map(Op::operands)
        {
            known.insert(value);
        }
        for op in region.self_and_nested() {
            for inside in op.results() {
                if op != region {
                    known.remove(&inside);
                }
            }
            for arg in op.regions().flat_map(Region::blocks).flat_map(Block::args) {
                known.remove(&arg);
            }
        }
        for value in region
            .self_and_nested()
            .into_iter()
            .skip(1)
            .flat_map(Op::operands)
        {
            if known.remove(&value) {
                if is_constant(value) {
                    captures.constants.push(value);
                } else {
                    captures.values.push(value);
                }
            }
        }
        captures
    }

    /// Has the body, which is in `entry` now, use the arguments of that block, and constants of its own.
    fn replace(&self, entry: Block<'c>) {
        let mut inside: FxHashMap<Value, Value> = self.values.iter().copied().zip(entry.args()).collect();
        for constant in &self.constants {
            if let Some(op) = constant.defining_op() {
                let copy = op.clone_mapped(&mut Mapping::new());
                entry.prepend(copy);
                inside.insert(*constant, copy.result(0));
            }
        }
        for op in entry.ops().into_iter().flat_map(Op::self_and_nested) {
            for (index, operand) in op.operands().enumerate().collect::<Vec<_>>() {
                if let Some(&value) = inside.get(&operand) {
                    op.set_operand(index, value);
                }
            }
        }
    }
}

/// Returns true if `value` is the same wherever it is computed.
fn is_constant(value: Value<'_>) -> bool {
    value.defining_op().is_some_and(|op| {
        let alone = op.num_operands() == 0 && op.num_results() == 1 && op.num_regions() == 0;
        alone && op.is_pure()
    })
}

fn to_plain_function(function: Op<'_>) {
    let types = function_type(function).map(|ty| TypeAttribute::new(ty.into()));
    let mut plain = OpBuilder::new(func::FUNC, function.location()).regions(1);
    for name in [
        attr::SYM_NAME,
        attr::SYM_VISIBILITY,
        attr::ARG_ATTRS,
        attr::RES_ATTRS,
    ] {
        if let Some(attribute) = function.attr(name) {
            plain = plain.attr(name, attribute);
        }
    }
    if let Some(types) = types {
        plain = plain.attr(attr::FUNCTION_TYPE, types.into());
    }
    let plain = plain.before(function);
    plain.copy_discardable_attrs(function);
    plain.region(0).take_body(function.region(0));
    function.erase();
    for block in plain.region(0).blocks() {
        if let Some(end) = block.terminator().filter(|end| end.is(async_::YIELD)) {
            let values: Vec<Value> = end.operands().collect();
            let location = end.location();
            end.erase();
            OpBuilder::new(func::RETURN, location)
                .operands(&values)
                .at_end(block);
        }
    }
}

fn to_plain_call(call: Op<'_>) {
    let operands: Vec<Value> = call.operands().collect();
    let types: Vec<Type> = call.results().map(Value::ty).collect();
    let mut plain = OpBuilder::new(func::CALL, call.location())
        .operands(&operands)
        .results(&types);
    if let Some(callee) = call.attr(attr::CALLEE) {
        plain = plain.attr(attr::CALLEE, callee);
    }
    let plain = plain.before(call);
    plain.copy_discardable_attrs(call);
    let results: Vec<Value> = plain.results().collect();
    call.replace_with(&results);
}
