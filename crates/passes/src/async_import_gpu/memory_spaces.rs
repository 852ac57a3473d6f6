//! Infers memory spaces: which memrefs are memory of the device.
//!
//! Upstream's `gpu.alloc` may return memrefs of the default memory space, which in `gpux` is the host's
//! memory. Values that have to be of the same type, since one is a view of the other or control flow or a
//! call makes one of the other, are in one class; a class with what `gpu.alloc` returns gets the device's
//! memory space. Kernels are classes of their own: where one takes memory of the device in all launches, its
//! body says so, too, and else the launch casts.

use crate::utils::equivalence_classes::EquivalenceClasses;
use crate::utils::signature::{Signature, operand_segments};
use async_mlir::calls::{callee_name, is_call};
use async_mlir::control_flow::{branch_edges, entry_edges, region_exit_edges, selected_values};
use async_mlir::gpu::{MemorySpace, global_memory};
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::IntegerAttribute;
use async_mlir::names::{attr, builtin, gpu, memref};
use async_mlir::pass::PassError;
use async_mlir::types::{is_unranked_memref, memory_space, memref_shape, with_memory_space};
use rustc_hash::{FxHashMap, FxHashSet};

/// Gives all memory of the device in `module` its memory space. Memrefs of the memory space `also` are such memory, too.
pub(super) fn assign(module: Op<'_>, also: i64) -> Result<(), PassError<'_>> {
    let mut classes = Classes::new(also);
    let ops = module.self_and_nested();
    for &op in &ops {
        classes.link(op);
    }
    for &op in &ops {
        classes.seed(op)?;
    }
    classes.check()?;
    let launches: Vec<Op> = ops.iter().copied().filter(|op| op.is(gpu::LAUNCH_FUNC)).collect();
    let casts = classes.kernels(module, &launches);
    let external: Vec<Cast> = ops.iter().flat_map(|op| classes.external(*op)).collect();
    classes.retype(&ops);
    casts.into_iter().chain(external).for_each(cast);
    Ok(())
}

/// An operand that has to be cast to a type.
type Cast<'c> = (Op<'c>, usize, Type<'c>);

fn cast((op, index, ty): Cast<'_>) {
    let value = OpBuilder::new(memref::MEMORY_SPACE_CAST, op.location())
        .operands(&[op.operand(index)])
        .results(&[ty])
        .before(op)
        .result(0);
    op.set_operand(index, value);
}

/// Values that have to be of one memory space.
struct Classes<'c> {
    also: i64,
    of: EquivalenceClasses<'c>,
    /// For a class, the value by which it is memory of the device.
    device: FxHashMap<usize, Value<'c>>,
}

impl<'c> Classes<'c> {
    fn new(also: i64) -> Self {
        Self {
            also,
            of: EquivalenceClasses::default(),
            device: FxHashMap::default(),
        }
    }

    fn class(&mut self, value: Value<'c>) -> usize {
        self.of.class(value)
    }

    fn is_device(&mut self, value: Value<'c>) -> bool {
        let class = self.class(value);
        self.device.contains_key(&class)
    }

    fn same(&mut self, a: Value<'c>, b: Value<'c>) {
        if is_memref(a.ty()) && is_memref(b.ty()) && memory_space(a.ty()) == memory_space(b.ty()) {
            self.of.unite(a, b);
        }
    }

    /// Puts what `op` makes of the same memory into the same classes.
    fn link(&mut self, op: Op<'c>) {
        if let Some(source) = op.view_source() {
            self.same(op.result(0), source);
        }
        if op.is(memref::EXTRACT_STRIDED_METADATA) {
            self.same(op.result(0), op.operand(0));
        }
        for value in selected_values(op).unwrap_or_default() {
            self.same(op.result(0), value);
        }
        let edges = [entry_edges(op), region_exit_edges(op), branch_edges(op)];
        for (from, to) in edges
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|edge| edge.bindings)
        {
            self.same(from, to);
        }
        let Some((_, entry)) = callee(op).and_then(|function| Some((function, function.region(0).first()?)))
        else {
            return;
        };
        for (operand, argument) in op.operands().zip(entry.args()) {
            self.same(operand, argument);
        }
        for end in entry
            .region()
            .into_iter()
            .flat_map(Region::blocks)
            .filter_map(Block::terminator)
        {
            if end.successors().len() == 0 {
                for (operand, result) in end.operands().zip(op.results()) {
                    self.same(operand, result);
                }
            }
        }
    }

    /// Says which classes are memory of the device by what `op` does.
    fn seed(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let is_alloc = op.is(gpu::ALLOC);
        if is_alloc {
            let (ty, shared) = (op.result(0).ty(), op.has_attr(attr::HOST_SHARED));
            let is_global = MemorySpace::of(ty) == Some(MemorySpace::Global);
            let known = memory_space(ty).is_none() || !shared && (is_global || self.is_also(ty));
            if !known {
                let message = format!(
                    "allocates '{ty}', which is not memory of the {}",
                    if shared { "host" } else { "device" }
                );
                let help = "leave its memory space out, or name that of the device with device-space";
                return Err(PassError::new(op, message).note(op, help));
            }
            if !shared && !is_global {
                self.mark(op.result(0));
            }
        }
        let in_kernel = std::iter::once(op)
            .chain(op.ancestors())
            .any(|outer| outer.is(gpu::MODULE));
        if !in_kernel {
            let arguments = op
                .regions()
                .flat_map(Region::blocks)
                .flat_map(|block| block.args().collect::<Vec<_>>());
            for value in op.results().chain(arguments) {
                if self.is_also(value.ty()) {
                    self.mark(value);
                }
            }
        }
        Ok(())
    }

    fn mark(&mut self, value: Value<'c>) {
        let class = self.class(value);
        self.device.entry(class).or_insert(value);
    }

    /// Returns true if `ty` is in the memory space that is the device's by option.
    fn is_also(&self, ty: Type<'c>) -> bool {
        let number = memory_space(ty).and_then(|space| IntegerAttribute::try_from(space).ok());
        self.also != 1 && number.is_some_and(|number| number.value() == self.also)
    }

    /// Returns an error if memory of the host is in a class with memory of the device.
    fn check(&mut self) -> Result<(), PassError<'c>> {
        for value in self.of.values() {
            let class = self.class(value);
            let Some(&device) = self.device.get(&class) else {
                continue;
            };
            if self.is_fixed(value) {
                let message = "memory that is not of the device gets to where memory of the device does, too, \
                               and a memref is of one memory space";
                return Err(PassError::new(value.location(), message)
                    .note(device.location(), "memory of the device comes from here"));
            }
        }
        Ok(())
    }

    /// Returns true if the memory space of `value` can't be changed.
    fn is_fixed(&self, value: Value<'c>) -> bool {
        match value.definition() {
            Definition::Result(op, _) => {
                let changes = op.is(gpu::ALLOC) && !op.has_attr(attr::HOST_SHARED)
                    || op.view_source().is_some() && !op.is(memref::MEMORY_SPACE_CAST)
                    || op.is(memref::EXTRACT_STRIDED_METADATA)
                    || entry_edges(op).is_some()
                    || selected_values(op).is_some()
                    || callee(op).is_some();
                !changes && !self.is_also(value.ty())
            }
            Definition::Argument(block, _) => {
                let op = block.parent_op();
                let is_entry = block.region().and_then(Region::first) == Some(block);
                is_entry && !op.is_some_and(|op| op.is_function() || entry_edges(op).is_some())
            }
        }
    }

    /// Makes kernels take memory of the device where all launches pass that. Returns what launches have to cast.
    fn kernels(&mut self, module: Op<'c>, launches: &[Op<'c>]) -> Vec<Cast<'c>> {
        let mut casts = Vec::new();
        let kernels = kernels(module);
        // What is passed for each argument.
        let mut passed: Vec<(Value, Vec<(Op, usize)>)> = Vec::new();
        let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
        for &launch in launches {
            let kernel = launch
                .attr(attr::KERNEL)
                .and_then(|name| kernels.get(&name.to_string()));
            let Some(entry) = kernel.and_then(|kernel| kernel.region(0).first()) else {
                continue;
            };
            for (index, argument) in kernel_operands(launch).zip(entry.args()) {
                if is_memref(argument.ty()) && index < launch.num_operands() {
                    let number = *numbers.entry(argument).or_insert(passed.len());
                    if number == passed.len() {
                        passed.push((argument, Vec::new()));
                    }
                    passed[number].1.push((launch, index));
                }
            }
        }
        let mut host: FxHashSet<usize> = FxHashSet::default();
        for value in self.of.values() {
            if self.is_fixed(value) {
                let class = self.class(value);
                host.insert(class);
            }
        }
        for kernel in kernels.values() {
            for argument in kernel
                .region(0)
                .first()
                .into_iter()
                .flat_map(|entry| entry.args().collect::<Vec<_>>())
            {
                let uses = numbers.get(&argument).map(|number| passed[*number].1.clone());
                let from_device = uses.is_some_and(|uses| {
                    uses.iter()
                        .all(|(launch, index)| self.is_device(launch.operand(*index)))
                });
                if !from_device && is_memref(argument.ty()) {
                    let class = self.class(argument);
                    host.insert(class);
                }
            }
        }
        for (argument, uses) in passed {
            let class = self.class(argument);
            if host.contains(&class) {
                let from_device = uses
                    .into_iter()
                    .filter(|(launch, index)| self.is_device(launch.operand(*index)));
                casts.extend(
                    from_device
                        .map(|(launch, index)| (launch, index, argument.ty()))
                        .collect::<Vec<_>>(),
                );
            } else {
                self.mark(argument);
            }
        }
        casts
    }

    /// What `op` has to cast to pass it to a function without a body.
    fn external(&mut self, op: Op<'c>) -> Vec<Cast<'c>> {
        if !is_call(op) || callee(op).is_some() {
            return Vec::new();
        }
        let operands: Vec<Value> = op.operands().collect();
        let from_device = operands.into_iter().enumerate().filter(|(_, value)| {
            is_memref(value.ty()) && !self.is_also(value.ty()) && self.is_device(*value)
        });
        from_device
            .map(|(index, value)| (op, index, value.ty()))
            .collect()
    }

    /// Gives everything in the classes that are memory of the device its type, and functions theirs.
    fn retype(&mut self, ops: &[Op<'c>]) {
        for value in self.of.values() {
            if self.is_device(value)
                && let Some(ty) = with_memory_space(value.ty(), global_memory(value.context()))
            {
                value.set_type(ty);
            }
        }
        for &op in ops {
            if let Some(signature) = Signature::of(op) {
                self.retype_function(op, signature);
            }
        }
    }

    fn retype_function(&self, function: Op<'c>, mut signature: Signature<'c>) {
        let Some(entry) = function.regions().find_map(Region::first) else {
            for ty in signature.inputs.iter_mut().chain(&mut signature.results) {
                if self.is_also(*ty) {
                    *ty = with_memory_space(*ty, global_memory(function.context())).unwrap_or(*ty);
                }
            }
            return signature.set(function);
        };
        for (input, argument) in signature.inputs.iter_mut().zip(entry.args()) {
            *input = argument.ty();
        }
        // Those of `async.region`s in it are of other operations.
        let ends = entry
            .region()
            .into_iter()
            .flat_map(Region::blocks)
            .filter_map(Block::terminator);
        for end in ends.filter(|end| end.successors().len() == 0) {
            for (result, value) in signature.results.iter_mut().zip(end.operands()) {
                *result = value.ty();
            }
        }
        signature.set(function);
    }
}

fn is_memref(ty: Type<'_>) -> bool {
    is_unranked_memref(ty) || memref_shape(ty).is_some()
}

/// The function with a body that `op` calls.
fn callee(op: Op<'_>) -> Option<Op<'_>> {
    if !is_call(op) {
        return None;
    }
    let name = callee_name(op)?;
    let table = op
        .ancestors()
        .find(|outer| outer.is(builtin::MODULE) || outer.is(gpu::MODULE))?;
    let functions = table.region(0).first()?.ops();
    functions.into_iter().find(|function| {
        let is_called = function.is_function() && function.str_attr(attr::SYM_NAME) == Some(name);
        is_called && function.region(0).first().is_some()
    })
}

/// The kernels in `module`, by the text of the attribute that names them in launches.
fn kernels(module: Op<'_>) -> FxHashMap<String, Op<'_>> {
    let functions = module.self_and_nested().into_iter().filter(|op| op.is(gpu::FUNC));
    let named = functions.filter_map(|kernel| {
        let outer = kernel.parent()?.str_attr(attr::SYM_NAME)?;
        let name = kernel.str_attr(attr::SYM_NAME)?;
        Some((format!("@{outer}::@{name}"), kernel))
    });
    named.collect()
}

/// The numbers of the operands of `launch` that the kernel gets.
fn kernel_operands(launch: Op<'_>) -> std::ops::Range<usize> {
    match operand_segments(launch).as_slice() {
        [before @ .., count, _] => {
            let first = before.iter().sum();
            first..first + count
        }
        _ => 0..0,
    }
}
