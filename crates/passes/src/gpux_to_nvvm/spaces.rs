//! Memory is where its type says.
//!
//! An address is converted to the memory space that an operation wants, and the hardware doesn't ask where it came from. So
//! what is known to be elsewhere is refused: workgroup memory from `malloc` or a stack, a copy from a stack, and a cast
//! from one memory space to another that shares no byte with it.

use crate::allocs_to_globals::is_workgroup_alloc;
use crate::device::device_functions;
use async_dialects::control_flow::{branch_edges, entry_edges, region_exit_edges, selected_values};
use async_dialects::gpu::{attributions, inputs, is_workgroup};
use async_dialects::ir::{Definition, Op, Value};
use async_dialects::melior::ir::Type;
use async_dialects::pass::PassError;
use async_dialects::types::{memory_space, memref_shape};
use std::collections::{HashMap, HashSet};

/// A memory space of the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Space {
    Global,
    Workgroup,
    Private,
}

impl Space {
    fn name(self) -> &'static str {
        match self {
            Self::Global => "global memory",
            Self::Workgroup => "memory of the workgroup",
            Self::Private => "memory of one thread",
        }
    }

    /// What a type says; `None` if that is any.
    fn of(ty: Type<'_>) -> Option<Self> {
        match memory_space(ty)?.to_string().as_str() {
            "#gpu.address_space<global>" | "1 : i64" | "1 : i32" => Some(Self::Global),
            "#gpu.address_space<private>" | "5 : i64" | "5 : i32" => Some(Self::Private),
            _ => is_workgroup(ty).then_some(Self::Workgroup),
        }
    }
}

/// Returns an error if something in device code in `root` has an address in another memory space than it says.
pub(super) fn check<'c>(root: Op<'c>) -> Result<(), PassError<'c>> {
    for function in device_functions(root) {
        let mut sources = None;
        for op in function.nested() {
            if is_workgroup_alloc(op) {
                let message = "is memory of the workgroup that device code allocates, which upstream's lowering would take \
                               from malloc or a stack: run --gpux-allocs-to-globals before";
                return Err(PassError::new(op, message));
            }
            if !is_particular(op) {
                continue;
            }
            let sources = sources.get_or_insert_with(|| Sources::of(function));
            check_op(op, sources)?;
        }
    }
    Ok(())
}

/// Returns true if `op` takes an address to be in a memory space of its own.
fn is_particular(op: Op<'_>) -> bool {
    let name = op.name();
    name == "memref.memory_space_cast" || name == "nvgpu.device_async_copy" || name.starts_with("gpux.")
}

fn check_op<'c>(op: Op<'c>, sources: &Sources<'c>) -> Result<(), PassError<'c>> {
    for memref in op.operands().filter(|value| memref_shape(value.ty()).is_some()) {
        let taken_for = match op.name() {
            "memref.memory_space_cast" => match Space::of(op.result(0).ty()) {
                None => continue,
                Some(space) => space,
            },
            _ => Space::of(memref.ty()).unwrap_or(Space::Global),
        };
        let Some((start, space)) = sources.elsewhere(memref, taken_for) else {
            continue;
        };
        let (what_for, space) = (taken_for.name(), space.name());
        let message = format!(
            "takes an address for one of {what_for}, but it is one of {space}: copy the elements instead"
        );
        let fault = PassError::new(op, message);
        return Err(match start.definition() {
            Definition::Result(buffer, _) => fault.note(buffer, format!("this is {space}")),
            Definition::Argument(..) => fault.note(start.location(), format!("this is {space}")),
        });
    }
    Ok(())
}

/// What control flow binds to values of a function.
struct Sources<'c>(HashMap<Value<'c>, Vec<Value<'c>>>);

impl<'c> Sources<'c> {
    fn of(function: Op<'c>) -> Self {
        let mut bound: HashMap<Value, Vec<Value>> = HashMap::new();
        for op in function.nested() {
            let mut edges = entry_edges(op).unwrap_or_default();
            if op.is_terminator() {
                edges.extend(region_exit_edges(op).into_iter().flatten());
                edges.extend(branch_edges(op).into_iter().flatten());
            }
            for (from, to) in edges.into_iter().flat_map(|edge| edge.bindings) {
                bound.entry(to).or_default().push(from);
            }
        }
        Self(bound)
    }

    /// What `memref` may be a view of that is known not to be in the memory space `expected`.
    fn elsewhere(&self, memref: Value<'c>, expected: Space) -> Option<(Value<'c>, Space)> {
        let mut seen = HashSet::from([memref]);
        let mut work = vec![memref];
        while let Some(value) = work.pop() {
            if let Some(space) = space_of(value).filter(|space| *space != expected) {
                return Some((value, space));
            }
            let mut from = self.0.get(&value).cloned().unwrap_or_default();
            if let Definition::Result(op, _) = value.definition() {
                from.extend(op.view_source());
                from.extend(selected_values(op).unwrap_or_default());
            }
            work.extend(from.into_iter().filter(|value| seen.insert(*value)));
        }
        None
    }
}

/// The memory space that `value` is known to be in, by its type or by where it is made.
fn space_of(value: Value<'_>) -> Option<Space> {
    if let Some(space) = Space::of(value.ty()) {
        return Some(space);
    }
    match value.definition() {
        Definition::Result(op, _) if op.is("memref.alloca") => Some(Space::Private),
        Definition::Result(..) => None,
        Definition::Argument(block, index) => {
            let function = block.parent_op().filter(|op| op.is("gpu.func"))?;
            let own = inputs(function)? + attributions(function);
            (function.region(0).first() == Some(block) && index >= own).then_some(Space::Private)
        }
    }
}
