//! Views of buffers, and what lowering makes of addresses.

use super::{Done, Reader, Unknown};
use crate::code::{Index, Member, Op as Instruction, Reg};
use crate::scalar::Scalar;
use crate::value::{Elem, Value as Constant};
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::{ArrayAttribute, TypeAttribute};
use async_mlir::names::{attr, builtin, llvm, memref};
use async_mlir::types::{self, MapResult};

impl<'c> Reader<'c> {
    /// Reads `op` if it makes a view, an address, or says something of one; returns false if it does not.
    pub(super) fn views(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            memref::DIM => {
                let (view, index) = (self.operand(op, 0), self.operand(op, 1));
                let to = self.reg(op.result(0));
                self.emit(op, Instruction::Dim { to, view, index });
            }
            memref::RANK => {
                let Some(shape) = types::memref_shape(op.operand(0).ty()) else {
                    return Err(Unknown::operation(op));
                };
                let rank = i64::try_from(shape.sizes.len()).unwrap_or(0);
                self.set(op, op.result(0), Constant::int(rank));
            }
            memref::DISTINCT_OBJECTS => {
                let (from, to): (Vec<Value>, Vec<Value>) = op.operands().zip(op.results()).unzip();
                self.moves(op, &from, &to);
            }
            memref::SUBVIEW => self.subview(op)?,
            memref::VIEW => self.view(op)?,
            memref::REINTERPRET_CAST => self.reinterpret(op)?,
            memref::TRANSPOSE => self.transpose_view(op)?,
            memref::CAST => self.cast(op),
            memref::ASSUME_ALIGNMENT => self.assume(op),
            memref::MEMORY_SPACE_CAST => self.same(op),
            memref::EXPAND_SHAPE | memref::COLLAPSE_SHAPE => self.regroup(op)?,
            memref::EXTRACT_STRIDED_METADATA => self.metadata(op),
            memref::EXTRACT_ALIGNED_POINTER_AS_INDEX => self.part(op, op.result(0), Member::Pointer),
            builtin::UNREALIZED_CONVERSION_CAST | llvm::ADDRSPACECAST | llvm::INTTOPTR | llvm::PTRTOINT => {
                if op.num_operands() != 1 || op.num_results() != 1 {
                    return Err(Unknown::operation(op));
                }
                self.same(op);
            }
            llvm::EXTRACTVALUE => self.member(op)?,
            llvm::GETELEMENTPTR => self.offset(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn same(&mut self, op: Op<'c>) {
        let (from, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.scalar(op, Scalar::Same, Elem::INDEX, to, &[from]);
    }

    /// What a memref's descriptor holds.
    fn part(&mut self, op: Op<'c>, result: Value<'c>, member: Member) {
        let (view, to) = (self.operand(op, 0), self.reg(result));
        self.emit(op, Instruction::Address { to, view, member });
    }

    /// The type may say more of sizes than it did.
    fn cast(&mut self, op: Op<'c>) {
        let view = self.operand(op, 0);
        if let Some(shape) = types::memref_shape(op.result(0).ty()) {
            let sizes = shape.sizes.into();
            self.emit(
                op,
                Instruction::Check {
                    view,
                    sizes,
                    align: 1,
                },
            );
        }
        self.same(op);
    }

    fn assume(&mut self, op: Op<'c>) {
        let view = self.operand(op, 0);
        let align = op
            .int_attr(attr::ALIGNMENT)
            .and_then(|align| usize::try_from(align).ok());
        let (sizes, align) = (Box::new([]), align.unwrap_or(1));
        self.emit(op, Instruction::Check { view, sizes, align });
        if op.num_results() > 0 {
            self.same(op);
        }
    }

    /// The buffer's start, the offset, the sizes and the strides.
    fn metadata(&mut self, op: Op<'c>) {
        let rank = (op.num_results() - 2) / 2;
        self.rebuild(op, Index::Const(0), Box::new([]), Box::new([]));
        self.part(op, op.result(1), Member::Offset);
        for dim in 0..rank {
            self.part(op, op.result(2 + dim), Member::Size(dim));
            self.part(op, op.result(2 + rank + dim), Member::Stride(dim));
        }
    }

    fn reinterpret(&mut self, op: Op<'c>) -> Done<'c> {
        let mut next = 1;
        let offset = self.list(op, attr::STATIC_OFFSETS, &mut next)?;
        let sizes = self.list(op, attr::STATIC_SIZES, &mut next)?;
        let strides = self.list(op, attr::STATIC_STRIDES, &mut next)?;
        let offset = *offset.first().unwrap_or(&Index::Const(0));
        self.rebuild(op, offset, sizes, strides);
        Ok(())
    }

    /// The first result is another window of the operand's buffer, counted from its start.
    fn rebuild(&mut self, op: Op<'c>, offset: Index, sizes: Box<[Index]>, strides: Box<[Index]>) {
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Instruction::Reinterpret {
                to,
                view,
                offset,
                sizes,
                strides,
            },
        );
    }

    fn transpose_view(&mut self, op: Op<'c>) -> Done<'c> {
        let dims = op.attr(attr::PERMUTATION).and_then(permutation);
        let dims: Option<Box<[usize]>> = dims.and_then(|dims| dims.into_iter().collect());
        let dims = dims.ok_or_else(|| Unknown::operation(op))?;
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(op, Instruction::Permute { to, view, dims });
        Ok(())
    }

    /// Constants and operands of a list such as `static_offsets`, where operands start at `first`.
    pub(super) fn list(
        &mut self,
        op: Op<'c>,
        name: &str,
        first: &mut usize,
    ) -> Result<Box<[Index]>, Unknown<'c>> {
        let values = super::ints(op, name).ok_or_else(|| Unknown::operation(op))?;
        Ok(values
            .into_iter()
            .map(|value| {
                if value != i64::MIN {
                    return Index::Const(value);
                }
                *first += 1;
                Index::Reg(self.operand(op, *first - 1))
            })
            .collect())
    }

    fn subview(&mut self, op: Op<'c>) -> Done<'c> {
        let mut next = 1;
        let offsets = self.list(op, attr::STATIC_OFFSETS, &mut next)?;
        let sizes = self.list(op, attr::STATIC_SIZES, &mut next)?;
        let strides = self.list(op, attr::STATIC_STRIDES, &mut next)?;
        let dims = |ty| {
            let shape = types::memref_shape(ty)?;
            Some((shape.sizes, types::memref_layout(ty)?.strides))
        };
        let (from, to) = (dims(op.operand(0).ty()), dims(op.result(0).ty()));
        let (Some((_, from)), Some((kept, kept_strides))) = (from, to) else {
            return Err(Unknown::operation(op));
        };
        let steps = from.iter().zip(&strides).map(|(stride, step)| match step {
            Index::Const(step) => stride.map(|stride| stride * step),
            Index::Reg(_) => None,
        });
        let all: Vec<Dim> = sizes.iter().map(known).zip(steps).collect();
        let kept: Vec<Dim> = kept.into_iter().zip(kept_strides).collect();
        let dropped = dropped(&all, &kept).ok_or_else(|| Unknown::operation(op))?.into();
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Instruction::SubView {
                to,
                view,
                offsets,
                sizes,
                strides,
                dropped,
            },
        );
        Ok(())
    }

    fn view(&mut self, op: Op<'c>) -> Done<'c> {
        let Some(shape) = types::memref_shape(op.result(0).ty()) else {
            return Err(Unknown::operation(op));
        };
        let (elem, lanes) = Self::element(op, shape.element)?;
        let mut next = 2;
        let sizes = shape.sizes.iter().map(|size| {
            size.map_or_else(
                || {
                    next += 1;
                    Index::Reg(self.operand(op, next - 1))
                },
                Index::Const,
            )
        });
        let sizes = sizes.collect();
        let (view, shift) = (self.operand(op, 0), self.operand(op, 1));
        self.window(op, (view, shift), sizes, (elem, lanes));
        Ok(())
    }

    /// The result of `op` is what of a view begins some bytes on, with sizes and elements of its own.
    pub(super) fn window(
        &mut self,
        op: Op<'c>,
        (view, shift): (Reg, Reg),
        sizes: Box<[Index]>,
        (elem, lanes): (Elem, u32),
    ) {
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Instruction::Window {
                to,
                view,
                shift,
                sizes,
                elem,
                lanes,
            },
        );
    }

    /// Other dimensions over the same elements.
    fn regroup(&mut self, op: Op<'c>) -> Done<'c> {
        let groups = groups(op).ok_or_else(|| Unknown::operation(op))?;
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        let groups = groups.into();
        if op.is(memref::COLLAPSE_SHAPE) {
            self.emit(op, Instruction::Collapse { to, view, groups });
            return Ok(());
        }
        let mut next = 1;
        let sizes = self.list(op, attr::STATIC_OUTPUT_SHAPE, &mut next)?;
        self.emit(
            op,
            Instruction::Expand {
                to,
                view,
                groups,
                sizes,
            },
        );
        Ok(())
    }

    /// `llvm.extractvalue` from the struct that a memref is lowered to.
    fn member(&mut self, op: Op<'c>) -> Done<'c> {
        let position = super::ints(op, attr::POSITION).unwrap_or_default();
        let dim = |i: i64| usize::try_from(i).unwrap_or(0);
        let member = match position.as_slice() {
            [0 | 1] => Member::Pointer,
            [2] => Member::Offset,
            [3, i] => Member::Size(dim(*i)),
            [4, i] => Member::Stride(dim(*i)),
            _ => return Err(Unknown::operation(op)),
        };
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(op, Instruction::Address { to, view, member });
        Ok(())
    }

    /// Operand `i`, an integer with a sign, in 64 bits.
    pub(super) fn extended(&mut self, op: Op<'c>, i: usize) -> Reg {
        let from = self.operand(op, i);
        match super::number(op.operand(i).ty()) {
            Some(Elem::Int(width)) if width < 64 => {
                let to = self.fresh();
                self.scalar(op, Scalar::SignExtend(width), Elem::INDEX, to, &[from]);
                to
            }
            _ => from,
        }
    }

    fn offset(&mut self, op: Op<'c>) -> Done<'c> {
        let indices = super::ints(op, attr::RAW_CONSTANT_INDICES).unwrap_or_default();
        let elem = op
            .attr(attr::ELEM_TYPE)
            .and_then(|ty| TypeAttribute::try_from(ty).ok())
            .map(|ty| Self::element(op, ty.value()))
            .transpose()?;
        let (Some((elem, lanes)), [index]) = (elem, indices.as_slice()) else {
            return Err(Unknown::operation(op));
        };
        let index = if op.num_operands() > 1 {
            Index::Reg(self.extended(op, 1))
        } else {
            Index::Const(*index)
        };
        let bytes = i64::try_from(elem.bytes()).unwrap_or(0) * i64::from(lanes);
        let (pointer, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Instruction::Offset {
                to,
                pointer,
                index,
                bytes,
            },
        );
        Ok(())
    }
}

/// The dimension that each result of a map is, as in `affine_map<(d0, d1) -> (d1, 0)>`; `None` for a constant 0.
pub(super) fn permutation(map: Attribute<'_>) -> Option<Vec<Option<usize>>> {
    let results = types::map_results(map)?.into_iter();
    results
        .map(|result| match result {
            MapResult::Dim(dim) => Some(Some(dim)),
            MapResult::Constant(0) => Some(None),
            _ => None,
        })
        .collect()
}

/// How many dimensions of the longer shape each of the shorter one is made of.
fn groups(op: Op<'_>) -> Option<Vec<usize>> {
    let groups = ArrayAttribute::try_from(op.attr(attr::REASSOCIATION)?).ok()?;
    let group = |i: usize| ArrayAttribute::try_from(groups.element(i).ok()?).ok();
    (0..groups.len())
        .map(|i| group(i).map(|group| group.len()))
        .collect()
}

/// The size and stride of a dimension, where they are known.
type Dim = (Option<i64>, Option<i64>);

fn known(index: &Index) -> Option<i64> {
    match index {
        Index::Const(value) => Some(*value),
        Index::Reg(_) => None,
    }
}

/// The dimensions of `all` that are not in `kept`: each is of size 1. The types tell which; where several would do, the
/// first ones go.
fn dropped(all: &[Dim], kept: &[Dim]) -> Option<Vec<usize>> {
    let Some((&(size, stride), rest)) = all.split_first() else {
        return kept.is_empty().then(Vec::new);
    };
    let shifted = |dims: Vec<usize>| dims.into_iter().map(|dim| dim + 1);
    if size == Some(1)
        && let Some(more) = dropped(rest, kept)
    {
        return Some(std::iter::once(0).chain(shifted(more)).collect());
    }
    let (&(kept_size, kept_stride), others) = kept.split_first()?;
    let same_stride = stride
        .zip(kept_stride)
        .is_none_or(|(stride, kept)| stride == kept);
    if size != kept_size || !same_stride {
        return None;
    }
    dropped(rest, others).map(|dims| shifted(dims).collect())
}
