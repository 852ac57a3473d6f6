//! Where accesses are in their buffers, and what the addresses are multiples of.
//!
//! **What buffers are aligned to.** Memory of the workgroup is taken to be aligned to 16 bytes, since `--gpux-to-nvvm` aligns whatever a
//! copy writes to that. Buffers that callers hand over are taken to have what [`Addresses::new`] is told. Others have what is said
//! of them, or what their elements need.

use super::alias::{Origin, Root};
use super::divisibility::{Divisibility, MAX_LOG2, log2_of};
use super::linear_expr::{LinearExpr, LinearExprs};
use super::views::base;
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{attr, memref};
use async_mlir::types::{DYNAMIC, Layout, bit_width, dense_numbers, memref_layout, memref_shape};

/// What copies of up to 16 bytes and bulk copies require of addresses in memory of the workgroup, in bytes.
pub const COPY_ALIGNMENT: i64 = 16;

/// An address.
#[derive(Clone, Debug)]
pub struct Address<'c> {
    /// The buffer.
    pub root: Root<'c>,
    /// The bytes from the start of the buffer; `None` if that is no sum.
    pub offset: Option<LinearExpr<'c>>,
    /// The exponent of a power of two that divides the address.
    pub log2: u32,
}

/// Works addresses out. It remembers what values are.
pub struct Addresses<'c> {
    linear_exprs: LinearExprs<'c>,
    divisibility: Divisibility<'c>,
    argument_log2: u32,
}

/// How many views of views are looked through.
const MAX_VIEWS: usize = 64;

/// A number of bytes on the way: a sum, as long as it is one, and what the rest is divisible by.
struct Bytes<'c> {
    sum: Option<LinearExpr<'c>>,
    constant: i64,
    log2: u32,
}

impl<'c> Addresses<'c> {
    /// Buffers that callers hand over are aligned to `argument_alignment` bytes.
    #[must_use]
    pub fn new(argument_alignment: i64) -> Self {
        Self {
            linear_exprs: LinearExprs::default(),
            divisibility: Divisibility::default(),
            argument_log2: log2_of(argument_alignment),
        }
    }

    /// The address of the element of `memory` at `indices`, each a value or 0; `None` if its elements are no whole bytes, or
    /// its layout has no strides.
    pub fn of(&mut self, memory: Value<'c>, indices: &[Option<Value<'c>>]) -> Option<Address<'c>> {
        let element = element_bytes(memory)?;
        let layout = memref_layout(memory.ty())?;
        let mut bytes = Bytes {
            sum: Some(LinearExpr::default()),
            constant: 0,
            log2: MAX_LOG2,
        };
        self.add_indices(&mut bytes, indices, &layout, element);
        // What is said of a view on the way holds for it whatever it is a view of.
        let mut said = 0;
        let mut view = memory;
        for _ in 0..MAX_VIEWS {
            let Some(op) = view.defining_op() else { break };
            if op.is(memref::ASSUME_ALIGNMENT) {
                let alignment = op.int_attr(attr::ALIGNMENT).unwrap_or(1);
                said = said.max(log2_of(alignment).min(bytes.log2()));
            }
            if self.add_view(&mut bytes, op).is_none() {
                break;
            }
            view = op.operand(0);
        }
        let root = Root::of(memory);
        // The sum starts where the view does that the walk has come to.
        let complete = view == base(memory);
        let own = if complete {
            self.base_log2(view, root, element).min(bytes.log2())
        } else {
            0
        };
        let least = log2_of(element);
        Some(Address {
            root,
            offset: bytes.sum.filter(|_| complete),
            log2: own.max(said).max(least),
        })
    }

    /// What `value` is the sum of.
    pub fn linear(&mut self, value: Value<'c>) -> std::rc::Rc<LinearExpr<'c>> {
        self.linear_exprs.of(value)
    }

    fn add_indices(
        &mut self,
        bytes: &mut Bytes<'c>,
        indices: &[Option<Value<'c>>],
        layout: &Layout,
        element: i64,
    ) {
        for (index, stride) in indices.iter().zip(&layout.strides) {
            if let Some(index) = index {
                let index = (*self.linear_exprs.of(*index)).clone();
                self.add(bytes, &index, *stride, element);
            }
        }
    }

    /// Adds `index * stride * element`.
    fn add(&mut self, bytes: &mut Bytes<'c>, index: &LinearExpr<'c>, stride: Option<i64>, element: i64) {
        let of_terms = index
            .terms()
            .map(|(factor, value)| log2_of(factor) + self.divisibility.log2(value));
        let of_terms = of_terms.min().unwrap_or(MAX_LOG2);
        let Some(stride) = stride else {
            // 0 times whatever the stride is.
            if index.as_constant() != Some(0) {
                bytes.sum = None;
                let of_index = of_terms.min(log2_of(index.constant));
                bytes.log2 = bytes.log2.min(of_index + log2_of(element));
            }
            return;
        };
        let factor = stride.wrapping_mul(element);
        let scaled = index.times(factor);
        bytes.constant = bytes.constant.wrapping_add(scaled.constant);
        bytes.log2 = bytes.log2.min(of_terms + log2_of(factor));
        bytes.sum = bytes.sum.take().map(|sum| sum.plus(&scaled));
    }

    /// Adds the bytes from the start of what `op` is a view of to the start of the view; `None` if `op` makes no view that
    /// is known.
    fn add_view(&mut self, bytes: &mut Bytes<'c>, op: Op<'c>) -> Option<()> {
        match op.name() {
            memref::ASSUME_ALIGNMENT
            | memref::CAST
            | memref::COLLAPSE_SHAPE
            | memref::EXPAND_SHAPE
            | memref::MEMORY_SPACE_CAST
            | memref::TRANSPOSE => Some(()),
            memref::VIEW => {
                let shift = (*self.linear_exprs.of(op.operand(1))).clone();
                self.add(bytes, &shift, Some(1), 1);
                Some(())
            }
            memref::SUBVIEW => self.add_subview(bytes, op),
            _ => None,
        }
    }

    fn add_subview(&mut self, bytes: &mut Bytes<'c>, op: Op<'c>) -> Option<()> {
        let source = op.operand(0);
        let element = element_bytes(source)?;
        let strides = memref_layout(source.ty())?.strides;
        let offsets = op.attr(attr::STATIC_OFFSETS).and_then(dense_numbers)?;
        let mut operand = 0;
        for (offset, stride) in offsets.into_iter().zip(strides) {
            let offset = if offset == DYNAMIC {
                operand += 1;
                (*self.linear_exprs.of(op.operand(operand))).clone()
            } else {
                LinearExpr::constant(offset)
            };
            self.add(bytes, &offset, stride, element);
        }
        Some(())
    }

    /// What the first element of `base`, which is no view, is aligned to.
    fn base_log2(&self, base: Value<'c>, root: Root<'c>, element: i64) -> u32 {
        let offset = memref_layout(base.ty()).and_then(|layout| layout.offset);
        let Some(offset) = offset else {
            return 0;
        };
        let element = element_bytes(base).unwrap_or(element);
        let buffer = match root.origin {
            Origin::Argument(_) => self.argument_log2,
            Origin::Unknown(_) => return 0,
            _ if root.space == Some(MemorySpace::Workgroup) => log2_of(COPY_ALIGNMENT),
            _ => {
                let said = base.defining_op().and_then(|op| op.int_attr(attr::ALIGNMENT));
                log2_of(said.unwrap_or(1)).max(log2_of(element))
            }
        };
        buffer.min(log2_of(offset.wrapping_mul(element)))
    }
}

impl Bytes<'_> {
    /// The exponent of a power of two that divides the number.
    fn log2(&self) -> u32 {
        self.log2.min(log2_of(self.constant))
    }
}

/// How many bytes an element of a memref has, if it is a number of whole bytes.
#[must_use]
pub fn element_bytes(memory: Value<'_>) -> Option<i64> {
    let bits = bit_width(memref_shape(memory.ty())?.element)?;
    (bits > 0 && bits.is_multiple_of(8)).then(|| i64::from(bits / 8))
}
