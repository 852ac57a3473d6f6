//! Refuses operations on an address that is known to lie in another memory space than they take it for.
//!
//! An address is converted to the memory space that an operation wants, and the hardware doesn't ask where it came from. So
//! what is known to be elsewhere is refused: workgroup memory from `malloc` or a stack, a copy from a stack, and a cast
//! from one memory space to another that shares no byte with it.

use crate::utils::device::{device_code, is_workgroup_alloc};
use async_dialects::names::gpux;
use async_mlir::control_flow::{branch_edges, entry_edges, region_exit_edges, selected_values};
use async_mlir::gpu::{MemorySpace, num_attributions, num_inputs};
use async_mlir::ir::{Definition, Op, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::names::{gpu, memref, nvgpu};
use async_mlir::pass::PassError;
use async_mlir::types::memref_shape;
use rustc_hash::{FxHashMap, FxHashSet};

/// What messages call a memory space.
fn words(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global memory",
        MemorySpace::Workgroup => "workgroup memory",
        MemorySpace::Private => "thread-private memory",
    }
}

/// Returns an error if something in device code in `root` has an address in another memory space than it says.
pub(super) fn check<'c>(root: Op<'c>) -> Result<(), PassError<'c>> {
    for function in device_code(root) {
        let mut sources = Sources::of(function);
        let mut result = Ok(());
        function.walk(|op| {
            result = sources.check_op(op);
            if result.is_ok() { Walk::Advance } else { Walk::Stop }
        });
        result?;
    }
    Ok(())
}

/// Where the values of a function come from.
struct Sources<'c> {
    function: Op<'c>,
    /// What control flow binds to them; found when it is asked for first.
    bound: Option<FxHashMap<Value<'c>, Vec<Value<'c>>>>,
    /// Values that were looked at, and in which memory space they may well be.
    seen: FxHashSet<(Value<'c>, MemorySpace)>,
    /// What types say, of which a function has few.
    types: Vec<(Type<'c>, TypeSpace)>,
}

/// What a type says of where a value is.
#[derive(Clone, Copy)]
struct TypeSpace {
    is_memref: bool,
    space: Option<MemorySpace>,
}

impl<'c> Sources<'c> {
    fn of(function: Op<'c>) -> Self {
        Self {
            function,
            bound: None,
            seen: FxHashSet::default(),
            types: Vec::new(),
        }
    }

    fn type_space(&mut self, ty: Type<'c>) -> TypeSpace {
        if let Some(&(_, type_space)) = self.types.iter().find(|(known, _)| *known == ty) {
            return type_space;
        }
        let type_space = TypeSpace {
            is_memref: memref_shape(ty).is_some(),
            space: MemorySpace::of(ty),
        };
        self.types.push((ty, type_space));
        type_space
    }

    /// Returns an error if `op` is or has an address in another memory space than it says.
    fn check_op(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let (name, dialect) = (op.name(), op.dialect());
        let takes_address = name == memref::MEMORY_SPACE_CAST || name == nvgpu::DEVICE_ASYNC_COPY;
        if takes_address || dialect == gpux::NAMESPACE {
            self.check(op)
        } else if dialect == memref::NAMESPACE && is_workgroup_alloc(op) {
            let message =
                "allocates workgroup memory, which upstream's lowering would take from malloc or the stack";
            Err(PassError::new(op, message).note(op, "run --gpux-allocs-to-globals first"))
        } else {
            Ok(())
        }
    }

    /// Returns an error if `op` takes an address for one in another memory space than it is in.
    fn check(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        for memref in op.operands() {
            let type_space = self.type_space(memref.ty());
            if !type_space.is_memref {
                continue;
            }
            let taken_for = match op.name() {
                memref::MEMORY_SPACE_CAST => match self.type_space(op.result(0).ty()).space {
                    None => continue,
                    Some(space) => space,
                },
                _ => type_space.space.unwrap_or(MemorySpace::Global),
            };
            let Some((start, space)) = self.source_in_other_space(memref, taken_for) else {
                continue;
            };
            let (what_for, space) = (words(taken_for), words(space));
            let message = format!("uses an address in {space} as one in {what_for}");
            let fault = PassError::new(op, message).note(op, "copy the elements instead");
            return Err(match start.definition() {
                Definition::Result(buffer, _) => fault.note(buffer, format!("this is {space}")),
                Definition::Argument(..) => fault.note(start.location(), format!("this is {space}")),
            });
        }
        Ok(())
    }

    /// What `memref` may be a view of that is known not to be in the memory space `expected`.
    fn source_in_other_space(
        &mut self,
        memref: Value<'c>,
        expected: MemorySpace,
    ) -> Option<(Value<'c>, MemorySpace)> {
        if self.seen.contains(&(memref, expected)) {
            return None;
        }
        let mut work = vec![memref];
        while let Some(value) = work.pop() {
            if !self.seen.insert((value, expected)) {
                continue;
            }
            if let Some(space) = self.space_of(value).filter(|space| *space != expected) {
                return Some((value, space));
            }
            if may_be_bound(value) {
                let bound = self.bound.get_or_insert_with(|| bindings(self.function));
                work.extend(bound.get(&value).into_iter().flatten());
            }
            if let Definition::Result(op, _) = value.definition() {
                work.extend(op.view_source());
                work.extend(selected_values(op).unwrap_or_default());
            }
        }
        None
    }

    /// The memory space that `value` is known to be in, by its type or by where it is made.
    fn space_of(&mut self, value: Value<'c>) -> Option<MemorySpace> {
        self.type_space(value.ty()).space.or_else(|| made_in(value))
    }
}

/// What control flow in `function` binds to values.
fn bindings(function: Op<'_>) -> FxHashMap<Value<'_>, Vec<Value<'_>>> {
    let mut bound: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for op in function.self_and_nested() {
        let mut edges = entry_edges(op).unwrap_or_default();
        if op.is_terminator() {
            edges.extend(region_exit_edges(op).into_iter().flatten());
            edges.extend(branch_edges(op).into_iter().flatten());
        }
        for (from, to) in edges.into_iter().flat_map(|edge| edge.bindings) {
            bound.entry(to).or_default().push(from);
        }
    }
    bound
}

/// Returns true if control flow may bind something to `value`: not to what a function is called with.
fn may_be_bound(value: Value<'_>) -> bool {
    match value.definition() {
        Definition::Result(op, _) => op.num_regions() > 0,
        Definition::Argument(block, _) => {
            let owner = block.parent_op();
            owner.is_none_or(|owner| !owner.is_function() || owner.region(0).first() != Some(block))
        }
    }
}

/// The memory space that `value` is known to be in by where it is made.
fn made_in(value: Value<'_>) -> Option<MemorySpace> {
    match value.definition() {
        Definition::Result(op, _) if op.is(memref::ALLOCA) => Some(MemorySpace::Private),
        Definition::Result(..) => None,
        Definition::Argument(block, index) => {
            let function = block.parent_op().filter(|op| op.is(gpu::FUNC))?;
            let own = num_inputs(function)? + num_attributions(function);
            (function.region(0).first() == Some(block) && index >= own).then_some(MemorySpace::Private)
        }
    }
}
