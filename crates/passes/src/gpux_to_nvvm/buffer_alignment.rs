//! Raises the alignment of the buffers that copies access.
//!
//! `cp.async` wants both addresses aligned to the size of the transfer, but a buffer in workgroup memory has the
//! alignment of its element type unless something else is said. So each buffer that a copy writes is aligned to 16 bytes, or
//! keeps what it has if that is more. Bulk copies want 16 bytes as well, tiles 128, and swizzled tiles 1024, which is
//! what the pattern repeats after:
//!
//! | buffer                       | by                                     |
//! |------------------------------|----------------------------------------|
//! | attribution of a `gpu.func`  | `llvm.align`                           |
//! | `memref.global`              | `alignment`                            |
//! | `memref.alloc`, `.alloca`    | `alignment`                            |
//! | `gpu.dynamic_shared_memory`  | nothing up to 16, as upstream has it; above `gpux.dynamic_alignment` of the `gpu.module`, which `--legalize-for-ptx` gives the symbol |
//! | argument of the function     | nothing: its caller has the buffer     |
//!
//! Views are looked through. Where the buffer can't be told (a loop carries it, say), every workgroup buffer of the
//! function is aligned: it costs less than 16 bytes each.

use crate::utils::alignment::COPY_ALIGNMENT;
use async_dialects::names::gpux_attr;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::{is_workgroup, num_attributions, num_inputs};
use async_mlir::ir::{Block, Definition, Op, Region, Value, Walk, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute};
use async_mlir::melior::ir::r#type::MemRefType;
use async_mlir::melior::ir::{Attribute, Identifier};
use async_mlir::names::{arith, attr, builtin, gpu, memref};
use async_mlir::types::symbol;
use rustc_hash::FxHashMap;

/// The buffers of a module, and which of them are aligned already.
pub(super) struct BufferAligner<'c> {
    context: &'c Context,
    /// Values whose buffers are dealt with, and the alignment that they have.
    seen: FxHashMap<Value<'c>, i64>,
    /// Functions all of whose buffers are.
    swept: FxHashMap<Op<'c>, i64>,
    /// What the buffer at hand needs.
    alignment: i64,
    /// The `memref.global`s of a symbol table, by name.
    globals: FxHashMap<Op<'c>, FxHashMap<&'c str, Op<'c>>>,
    raised: u64,
}

impl<'c> BufferAligner<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self {
            context,
            seen: FxHashMap::default(),
            swept: FxHashMap::default(),
            alignment: COPY_ALIGNMENT,
            globals: FxHashMap::default(),
            raised: 0,
        }
    }

    /// How many buffers have a larger alignment than before.
    pub fn raised(&self) -> u64 {
        self.raised
    }

    /// Aligns every buffer that `copy` may write.
    pub fn align_destination(&mut self, copy: Op<'c>) {
        let source = MemRefType::try_from(copy.operand(0).ty()).expect("a verified copy is between memrefs");
        let rank = async_mlir::melior::ir::ShapedTypeLike::rank(&source);
        self.align(copy, copy.operand(1 + rank), COPY_ALIGNMENT);
    }

    /// Aligns every buffer that `memref`, an operand of `copy`, may be in.
    pub fn align(&mut self, copy: Op<'c>, memref: Value<'c>, alignment: i64) {
        self.alignment = alignment;
        let mut values = vec![memref];
        while let Some(value) = values.pop() {
            let known = self.seen.entry(value).or_default();
            if *known >= alignment {
                continue;
            }
            *known = alignment;
            match value.definition() {
                Definition::Result(op, _) => match op.name() {
                    memref::ASSUME_ALIGNMENT
                    | memref::CAST
                    | memref::COLLAPSE_SHAPE
                    | memref::EXPAND_SHAPE
                    | memref::EXTRACT_STRIDED_METADATA
                    | memref::MEMORY_SPACE_CAST
                    | memref::REINTERPRET_CAST
                    | memref::RESHAPE
                    | memref::SUBVIEW
                    | memref::TRANSPOSE
                    | memref::VIEW => values.push(op.operand(0)),
                    arith::SELECT => values.extend([op.operand(1), op.operand(2)]),
                    memref::GET_GLOBAL => self.align_global(op),
                    memref::ALLOC | memref::ALLOCA => self.align_op(op),
                    gpu::DYNAMIC_SHARED_MEMORY if alignment > COPY_ALIGNMENT => self.align_dynamic(copy, op),
                    gpu::DYNAMIC_SHARED_MEMORY => {}
                    _ => self.align_all(copy),
                },
                Definition::Argument(block, index) => match entered_function(block) {
                    Some(function) => self.align_attribution(function, index),
                    None => self.align_all(copy),
                },
            }
        }
    }

    /// Aligns all workgroup buffers of the function around `copy`.
    fn align_all(&mut self, copy: Op<'c>) {
        let Some(function) = copy.ancestors().find(|op| op.is_function()) else {
            return;
        };
        let known = self.swept.entry(function).or_default();
        if *known >= self.alignment {
            return;
        }
        *known = self.alignment;
        let first = num_inputs(function).unwrap_or(0);
        for index in 0..num_attributions(function) {
            self.align_attribution(function, first + index);
        }
        function.walk(|op| {
            if matches!(op.name(), memref::GET_GLOBAL | memref::ALLOC | memref::ALLOCA)
                && is_workgroup(op.result(0).ty())
            {
                if op.is(memref::GET_GLOBAL) {
                    self.align_global(op);
                } else {
                    self.align_op(op);
                }
            }
            Walk::Advance
        });
    }

    /// Aligns the attribution that is the entry block's argument `index`; does nothing if that is an ordinary argument.
    fn align_attribution(&mut self, function: Op<'c>, index: usize) {
        let (count, first) = (num_attributions(function), num_inputs(function).unwrap_or(0));
        let Some(attribution) = index
            .checked_sub(first)
            .filter(|&attribution| attribution < count)
        else {
            return;
        };
        let empty: Attribute = DictionaryAttribute::new(self.context, &[]).into();
        let given = function
            .attr(attr::WORKGROUP_ATTRIB_ATTRS)
            .and_then(|attrs| ArrayAttribute::try_from(attrs).ok());
        let mut all: Vec<Attribute> = (0..count)
            .map(|i| given.and_then(|given| given.element(i).ok()).unwrap_or(empty))
            .collect();
        let Ok(old) = DictionaryAttribute::try_from(all[attribution]) else {
            return;
        };
        let Some(alignment) = self.raise(old.element_by_name(attr::LLVM_ALIGN)) else {
            return;
        };
        let mut entries: Vec<_> = (0..old.len()).filter_map(|i| old.element(i).ok()).collect();
        entries.retain(|(name, _)| name.as_string_ref().as_str() != Ok(attr::LLVM_ALIGN));
        entries.push((Identifier::new(self.context, attr::LLVM_ALIGN), alignment));
        all[attribution] = DictionaryAttribute::new(self.context, &entries).into();
        function.set_attr(
            attr::WORKGROUP_ATTRIB_ATTRS,
            ArrayAttribute::new(self.context, &all).into(),
        );
    }

    /// Aligns the `memref.global` that a `memref.get_global` names.
    fn align_global(&mut self, get: Op<'c>) {
        let table = get
            .ancestors()
            .find(|op| matches!(op.name(), builtin::MODULE | gpu::MODULE));
        let name = get.attr(attr::NAME).and_then(symbol);
        if let (Some(table), Some(name)) = (table, name)
            && let Some(&global) = self
                .globals
                .entry(table)
                .or_insert_with(|| globals(table))
                .get(name)
        {
            self.align_op(global);
        }
    }

    /// Aligns dynamic memory of the workgroup, `memory`. It has no symbol yet, so the module remembers.
    fn align_dynamic(&mut self, copy: Op<'c>, memory: Op<'c>) {
        let module = memory.ancestors().find(|op| op.is(gpu::MODULE));
        if let Some(module) = module {
            if let Some(alignment) = self.raise(module.attr(gpux_attr::DYNAMIC_ALIGNMENT)) {
                module.set_attr(gpux_attr::DYNAMIC_ALIGNMENT, alignment);
            }
            return;
        }
        let message = format!(
            "needs memory that is aligned to {} bytes, but dynamic workgroup memory outside of a gpu.module is aligned to \
             {COPY_ALIGNMENT}",
            self.alignment
        );
        let warning = Diagnostic::warning(copy, message);
        warning.note(memory, "the memory is here").emit();
    }

    /// Aligns what has an attribute `alignment`.
    fn align_op(&mut self, op: Op<'c>) {
        if let Some(alignment) = self.raise(op.attr(attr::ALIGNMENT)) {
            op.set_attr(attr::ALIGNMENT, alignment);
        }
    }

    /// The alignment to write in the place of `old`, or `None` if that is enough.
    fn raise(&mut self, old: Option<Attribute<'c>>) -> Option<Attribute<'c>> {
        let old = old
            .and_then(|old| IntegerAttribute::try_from(old).ok())
            .map(|old| old.value());
        if old.is_some_and(|old| old >= self.alignment) {
            return None;
        }
        self.raised += 1;
        Some(int_attr(self.context, 64, self.alignment))
    }
}

/// The function whose entry block `block` is.
fn entered_function(block: Block<'_>) -> Option<Op<'_>> {
    let function = block.parent_op().filter(|op| op.is_function())?;
    (function.region(0).first() == Some(block)).then_some(function)
}

/// The `memref.global`s directly in `table`.
fn globals<'c>(table: Op<'c>) -> FxHashMap<&'c str, Op<'c>> {
    let blocks = table.regions().flat_map(Region::blocks);
    let globals = blocks.flat_map(Block::ops).filter(|op| op.is(memref::GLOBAL));
    globals
        .filter_map(|global| Some((global.str_attr(attr::SYM_NAME)?, global)))
        .collect()
}
