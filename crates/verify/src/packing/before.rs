//! Notes what the buffers of a function are, and what it does to them, before they are moved: part of what is trusted.

use super::alignment::{needed_at, needed_by, needed_by_elements};
use super::code::BufferId;
use super::read::{Reading, read};
use async_locations::buffer_parts::{ByteView, bytes_of, element_bytes, parts};
use async_locations::buffer_views::BufferViews;
use async_locations::memory::is_workgroup_alloc;
use async_locations::views::LeftBuffers;
use async_mlir::gpu::{is_workgroup, num_attributions, num_inputs};
use async_mlir::ir::{Block, Op, Use, Value};
use async_mlir::melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{attr, gpu, memref};
use async_mlir::types::{memref_shape, symbol};
use async_overlap::ids::IndexVec;
use rustc_hash::FxHashMap;

/// The buffers of a function, and its operations, as they were.
pub struct Before<'c> {
    pub(super) function: Op<'c>,
    pub(super) buffers: IndexVec<BufferId, Buffer<'c>>,
    pub(super) roots: Vec<Root<'c>>,
    /// All operations but those that only say where buffers are.
    pub(super) kept: Vec<Noted<'c>>,
    pub(super) reading: Reading<'c>,
}

/// A buffer.
pub(super) struct Buffer<'c> {
    pub location: Location<'c>,
    pub bytes: u64,
    /// False if something uses it that is neither a view nor an access.
    pub is_followed: bool,
}

/// A value that a buffer begins as.
pub(super) struct Root<'c> {
    pub buffer: BufferId,
    pub ty: Type<'c>,
    /// The byte of the buffer that it begins with.
    pub first: u64,
    /// What its address needs to be aligned to.
    pub alignment: u64,
    /// The byte of dynamic memory that it began with.
    pub was_at: u64,
    /// The global that it is.
    pub global: Option<&'c str>,
}

/// An operation as it was.
pub(super) struct Noted<'c> {
    pub op: Op<'c>,
    pub block: Option<Block<'c>>,
    pub operands: Vec<Operand<'c>>,
}

/// An operand as it was.
pub(super) enum Operand<'c> {
    Value(Value<'c>),
    /// A root, by number.
    Root(usize),
}

/// A reason to refuse what was written.
#[derive(Clone, Debug)]
pub struct Wrong<'c> {
    /// The operation where it is, if it is still there.
    pub op: Option<Op<'c>>,
    /// Where it is.
    pub location: Location<'c>,
    /// What it is.
    pub what: String,
    /// Other places, and what they are.
    pub notes: Vec<(Location<'c>, &'static str)>,
}

/// Collects the roots of a function.
#[derive(Default)]
struct Collected<'c> {
    buffers: IndexVec<BufferId, Buffer<'c>>,
    roots: Vec<Root<'c>>,
    values: Vec<Value<'c>>,
    /// The buffer that each global is, and what it is aligned to.
    globals: FxHashMap<&'c str, (BufferId, u64)>,
}

impl<'c> Before<'c> {
    /// Those of `function`, which has a body.
    #[must_use]
    pub fn of(function: Op<'c>) -> Self {
        let ops = function.self_and_nested();
        let mut all = Collected::default();
        all.attributions(function);
        let mut dynamic = Vec::new();
        for &op in &ops {
            if is_workgroup_alloc(op) {
                all.add(op.result(0), op.int_attr(attr::ALIGNMENT));
            } else if is_workgroup_global(op) {
                all.global(op);
            } else if op.is(gpu::DYNAMIC_SHARED_MEMORY) {
                let uses = op.result(0).uses().into_iter();
                dynamic.extend(uses.filter_map(|Use { owner, .. }| ByteView::of(owner)));
            }
        }
        for views in parts(dynamic, &LeftBuffers::of(&ops)) {
            all.views(&views);
        }
        let values: Vec<Vec<Value>> = all.values.iter().map(|value| vec![*value]).collect();
        let views = BufferViews::of(&values);
        for (root, escape) in all.roots.iter().zip(&views.escapes) {
            all.buffers[root.buffer].is_followed &= escape.is_none();
        }
        let numbers: FxHashMap<Value, usize> = all.values.iter().copied().zip(0..).collect();
        let kept: Vec<Noted> = ops
            .iter()
            .filter(|op| !only_makes_buffers(**op))
            .map(|op| Noted::of(*op, &numbers))
            .collect();
        for noted in &kept {
            let needed = needed_by(noted.op);
            for operand in noted.op.operands() {
                if let Some(root) = views.buffer(operand) {
                    let root = &mut all.roots[root];
                    root.alignment = root.alignment.max(needed).max(needed_by_elements(operand));
                }
            }
        }
        for root in &mut all.roots {
            root.alignment = needed_at(root.was_at, root.alignment);
        }
        let buffers: Vec<BufferId> = all.roots.iter().map(|root| root.buffer).collect();
        Self {
            function,
            reading: read(function, &views, &buffers),
            buffers: all.buffers,
            roots: all.roots,
            kept,
        }
    }
}

impl<'c> Collected<'c> {
    fn buffer(&mut self, root: Value<'c>, bytes: u64) -> BufferId {
        self.buffers.push(Buffer {
            location: root.location(),
            bytes,
            is_followed: true,
        })
    }

    fn root(&mut self, buffer: BufferId, value: Value<'c>, first: u64, alignment: u64) -> &mut Root<'c> {
        let element = memref_shape(value.ty()).and_then(|shape| element_bytes(shape.element));
        self.values.push(value);
        self.roots.push(Root {
            buffer,
            ty: value.ty(),
            first,
            alignment: alignment.max(element.unwrap_or(1)),
            was_at: 0,
            global: None,
        });
        let last = self.roots.len() - 1;
        &mut self.roots[last]
    }

    /// A buffer that begins as `value`.
    fn add(&mut self, value: Value<'c>, alignment: Option<i64>) -> &mut Root<'c> {
        // One of another size is refused where it is moved.
        let buffer = self.buffer(value, bytes_of(value.ty()).unwrap_or(0));
        let alignment = alignment.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(1);
        self.root(buffer, value, 0, alignment)
    }

    fn attributions(&mut self, function: Op<'c>) {
        let Some(entry) = function.region(0).first() else {
            return;
        };
        let first = num_inputs(function).unwrap_or(0);
        let attrs = function
            .attr(attr::WORKGROUP_ATTRIB_ATTRS)
            .and_then(|attrs| ArrayAttribute::try_from(attrs).ok());
        for number in 0..num_attributions(function) {
            let own = attrs.and_then(|attrs| DictionaryAttribute::try_from(attrs.element(number).ok()?).ok());
            let align = own.and_then(|own| own.element_by_name(attr::LLVM_ALIGN));
            let align = align.and_then(|align| IntegerAttribute::try_from(align).ok());
            self.add(entry.arg(first + number), align.map(|align| align.value()));
        }
    }

    /// What `get` gets: the same buffer as others that get it.
    fn global(&mut self, get: Op<'c>) {
        let Some(name) = get.attr(attr::NAME).and_then(symbol) else {
            return;
        };
        let value = get.result(0);
        let (buffer, alignment) = match self.globals.get(name) {
            Some(known) => *known,
            None => {
                let stated = find_global(get, name).and_then(|global| global.int_attr(attr::ALIGNMENT));
                let stated = stated.and_then(|bytes| u64::try_from(bytes).ok());
                let buffer = self.buffer(value, bytes_of(value.ty()).unwrap_or(0));
                (buffer, stated.unwrap_or(1))
            }
        };
        self.globals.insert(name, (buffer, alignment));
        self.root(buffer, value, 0, alignment).global = Some(name);
    }

    /// The buffer that `views` of dynamic memory, which may share bytes, are of.
    fn views(&mut self, views: &[ByteView<'c>]) {
        let (Some(first), Some(end)) = (
            views.iter().map(|view| view.start).min(),
            views.iter().map(|view| view.end).max(),
        ) else {
            return;
        };
        let buffer = self.buffer(views[0].op.result(0), end - first);
        for view in views {
            self.root(buffer, view.op.result(0), view.start - first, 1).was_at = view.start;
        }
    }
}

impl<'c> Noted<'c> {
    fn of(op: Op<'c>, roots: &FxHashMap<Value<'c>, usize>) -> Self {
        let operands = op.operands().map(|value| match roots.get(&value) {
            Some(root) => Operand::Root(*root),
            None => Operand::Value(value),
        });
        Self {
            op,
            block: op.block(),
            operands: operands.collect(),
        }
    }
}

/// Returns true if `op` gets a global of the workgroup.
pub(super) fn is_workgroup_global(op: Op<'_>) -> bool {
    op.is(memref::GET_GLOBAL) && is_workgroup(op.result(0).ty())
}

/// Returns true if all that `op` does is to say where a buffer is, or that nobody needs it any more.
fn only_makes_buffers(op: Op<'_>) -> bool {
    let is_dynamic = |value: Value| {
        value
            .defining_op()
            .is_some_and(|op| op.is(gpu::DYNAMIC_SHARED_MEMORY))
    };
    is_workgroup_alloc(op)
        || is_workgroup_global(op)
        || op.is(gpu::DYNAMIC_SHARED_MEMORY)
        || op.is(memref::VIEW) && is_dynamic(op.operand(0))
        || op.is(memref::DEALLOC) && is_workgroup(op.operand(0).ty())
}

/// The global that `get` gets, in the symbol table around its function.
pub(super) fn find_global<'c>(get: Op<'c>, name: &str) -> Option<Op<'c>> {
    let function = get.ancestors().find(|op| op.is_function())?;
    let mut ops = function.block()?.ops().into_iter();
    ops.find(|op| op.is(memref::GLOBAL) && op.str_attr(attr::SYM_NAME) == Some(name))
}
