//! Buffers, views of them, and accesses; also what lowering makes of addresses.

use super::{Done, Reader, Unknown, lanes};
use crate::code::{Access, BufferDecl, Index, Init, Member, Op as Code};
use crate::machine::row_by_row;
use crate::scalar::Scalar;
use crate::value::{BufferId, Elem, View};
use async_dialects::ir::{Op, Value};
use async_dialects::melior::ir::{Type, attribute::TypeAttribute};
use async_dialects::types;

/// Buffers that are not told otherwise are aligned as `cudaMalloc` does.
const DEFAULT_ALIGN: u32 = 256;
/// What workgroup buffers are aligned to at least.
pub(super) const COPY_ALIGN: u32 = 16;

impl<'c> Reader<'c> {
    /// Reads `op` if it is about memory; returns false if it is not.
    pub(super) fn memory(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            "memref.load" => self.load(op, 1, 1)?,
            "vector.load" => {
                let count = Self::elements_of(op, op.result(0).ty(), op.operand(0).ty())?;
                self.load(op, 1, count)?;
            }
            "memref.store" | "vector.store" => {
                let to = self.access(op, 1, 2);
                let value = self.operand(op, 0);
                self.emit(op, Code::Store { value, to });
            }
            "memref.alloc" | "memref.alloca" => self.alloc(op)?,
            "memref.dealloc" => {}
            "memref.get_global" => self.get_global(op)?,
            "gpu.dynamic_shared_memory" => self.dynamic_workgroup(op)?,
            "memref.dim" => {
                let (view, index) = (self.operand(op, 0), self.operand(op, 1));
                let to = self.reg(op.result(0));
                self.emit(op, Code::Dim { to, view, index });
            }
            "memref.subview" => self.subview(op)?,
            "memref.view" => self.view(op)?,
            "memref.cast" | "memref.memory_space_cast" | "memref.assume_alignment" => self.same(op),
            "memref.expand_shape" | "memref.collapse_shape" => self.regroup(op)?,
            "memref.extract_aligned_pointer_as_index" => {
                let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
                let member = Member::Pointer;
                self.emit(op, Code::Address { to, view, member });
            }
            "builtin.unrealized_conversion_cast"
            | "llvm.addrspacecast"
            | "llvm.inttoptr"
            | "llvm.ptrtoint" => {
                if op.num_operands() != 1 || op.num_results() != 1 {
                    return Err(Unknown::operation(op));
                }
                self.same(op);
            }
            "llvm.extractvalue" => self.member(op)?,
            "llvm.getelementptr" => self.offset(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn same(&mut self, op: Op<'c>) {
        let (from, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.scalar(op, Scalar::Same, Elem::INDEX, to, &[from]);
    }

    /// The element of operand `view` that the operands from `first` on are the indices of.
    pub(super) fn access(&mut self, op: Op<'c>, view: usize, first: usize) -> Access {
        let rank = types::memref_shape(op.operand(view).ty()).map_or(0, |shape| shape.sizes.len());
        Access {
            view: self.operand(op, view),
            indices: (first..first + rank).map(|i| self.operand(op, i)).collect(),
        }
    }

    fn load(&mut self, op: Op<'c>, first: usize, count: u32) -> Done<'c> {
        let from = self.access(op, 0, first);
        let vector = types::vector_shape(op.result(0).ty()).is_some();
        if !vector {
            Self::elem(op, op.result(0).ty())?;
        }
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Code::Load {
                to,
                from,
                count,
                vector,
            },
        );
        Ok(())
    }

    /// How many elements of a memref a vector is made of.
    fn elements_of(op: Op<'c>, vector: Type<'c>, memref: Type<'c>) -> Result<u32, Unknown<'c>> {
        let sizes = types::vector_shape(vector).and_then(|shape| lanes(&shape.sizes));
        let (Some(numbers), Some(shape)) = (sizes, types::memref_shape(memref)) else {
            return Err(Unknown::operation(op));
        };
        Ok(numbers / Self::element(op, shape.element)?.1.max(1))
    }

    /// A buffer for a memref of known sizes.
    fn declare(
        &mut self,
        op: Op<'c>,
        (to, ty): (Value<'c>, Type<'c>),
        name: String,
        align: u32,
        init: Option<Init>,
    ) -> Result<BufferDecl, Unknown<'c>> {
        let Some(shape) = types::memref_shape(ty) else {
            return Err(Unknown::operation(op));
        };
        let (elem, lanes) = Self::element(op, shape.element)?;
        let dynamic = matches!(init, Some(Init::Dynamic));
        let sizes: Option<Vec<i64>> = shape
            .sizes
            .iter()
            .map(|size| size.or(dynamic.then_some(0)))
            .collect();
        let Some(sizes) = sizes else {
            return Err(Unknown::new(
                op,
                format!("a buffer of type {ty} has no known size"),
            ));
        };
        let layout = types::memref_layout(ty).and_then(|layout| layout.strides.into_iter().collect());
        let strides: Vec<i64> = layout.unwrap_or_else(|| row_by_row(&sizes));
        let view = View {
            buffer: BufferId(0),
            base: 0,
            offset: 0,
            sizes,
            strides,
            elem,
            lanes,
        };
        let Some(bytes) = view.span_bytes() else {
            return Err(Unknown::new(op, format!("a buffer of type {ty} is too large")));
        };
        Ok(BufferDecl {
            to: self.reg(to),
            name,
            view,
            align,
            init: init.unwrap_or(Init::Garbage(bytes)),
        })
    }

    pub(super) fn attribution(
        &mut self,
        function: Op<'c>,
        arg: Value<'c>,
        workgroup: bool,
        align: Option<u32>,
    ) -> Done<'c> {
        if !workgroup {
            return self.private(function, arg);
        }
        let name = format!("workgroup buffer {}", self.code.workgroup.len());
        let decl = self.declare(function, (arg, arg.ty()), name, align.unwrap_or(COPY_ALIGN), None)?;
        self.code.workgroup.push(decl);
        Ok(())
    }

    /// A buffer of each thread.
    fn private(&mut self, op: Op<'c>, value: Value<'c>) -> Done<'c> {
        let Some(shape) = types::memref_shape(value.ty()) else {
            return Err(Unknown::operation(op));
        };
        let (elem, lanes) = Self::element(op, shape.element)?;
        let to = self.reg(value);
        let dynamic = if op.is("memref.alloc") || op.is("memref.alloca") {
            self.operands(op)
        } else {
            Box::new([])
        };
        let sizes = shape.sizes.into();
        self.emit(
            op,
            Code::Alloc {
                to,
                sizes,
                dynamic,
                elem,
                lanes,
            },
        );
        Ok(())
    }

    fn alloc(&mut self, op: Op<'c>) -> Done<'c> {
        let value = op.result(0);
        if !is_workgroup(value.ty()) {
            return self.private(op, value);
        }
        let name = format!("the workgroup buffer of {}", super::short(op.location()));
        let align = op
            .int_attr("alignment")
            .and_then(|align| u32::try_from(align).ok());
        let decl = self.declare(op, (value, value.ty()), name, align.unwrap_or(COPY_ALIGN), None)?;
        self.code.workgroup.push(decl);
        Ok(())
    }

    fn get_global(&mut self, op: Op<'c>) -> Done<'c> {
        let name = op.attr("name").map(|name| name.to_string()).unwrap_or_default();
        let name = name.trim_start_matches('@').to_owned();
        let found = op.ancestors().find_map(|ancestor| {
            let region = (ancestor.num_regions() == 1).then(|| ancestor.region(0))?;
            let ops = region.first()?.ops();
            ops.into_iter()
                .find(|op| op.is("memref.global") && op.str_attr("sym_name") == Some(&name))
        });
        let Some(global) = found else {
            return Err(Unknown::new(op, format!("there is no memref.global '{name}'")));
        };
        let ty = op.result(0).ty();
        // Several operations name one buffer.
        let known = self.globals.get(&global).copied();
        if let Some(known) = known {
            let to = self.reg(op.result(0));
            self.scalar(op, Scalar::Same, Elem::INDEX, to, &[known]);
            return Ok(());
        }
        let align = global
            .int_attr("alignment")
            .and_then(|align| u32::try_from(align).ok());
        let numbers = global.attr("initial_value").and_then(types::constant_numbers);
        let elem = TypeAttribute::try_from(global.attr("type").ok_or_else(|| Unknown::operation(op))?)
            .ok()
            .and_then(|ty| types::memref_shape(ty.value()))
            .map(|shape| Self::element(op, shape.element))
            .transpose()?;
        let init = numbers.zip(elem).map(|(numbers, (elem, _))| {
            let bytes = numbers.iter().flat_map(|bits| {
                let bytes = bits.to_le_bytes();
                bytes.into_iter().take(elem.bytes()).collect::<Vec<u8>>()
            });
            Init::Bytes(bytes.collect())
        });
        let workgroup = is_workgroup(ty);
        let align = align.unwrap_or(if workgroup { COPY_ALIGN } else { DEFAULT_ALIGN });
        let decl = self.declare(op, (op.result(0), ty), format!("@{name}"), align, init)?;
        self.globals.insert(global, decl.to);
        if workgroup {
            self.code.workgroup.push(decl);
        } else {
            self.code.global.push(decl);
        }
        Ok(())
    }

    fn dynamic_workgroup(&mut self, op: Op<'c>) -> Done<'c> {
        let result = op.result(0);
        if let Some(known) = self.dynamic {
            let to = self.reg(result);
            self.scalar(op, Scalar::Same, Elem::INDEX, to, &[known]);
            return Ok(());
        }
        let name = "dynamic workgroup memory".into();
        let decl = self.declare(op, (result, result.ty()), name, 1024, Some(Init::Dynamic))?;
        self.dynamic = Some(decl.to);
        self.code.workgroup.push(decl);
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
        let offsets = self.list(op, "static_offsets", &mut next)?;
        let sizes = self.list(op, "static_sizes", &mut next)?;
        let strides = self.list(op, "static_strides", &mut next)?;
        let rank = types::memref_shape(op.result(0).ty()).map_or(0, |shape| shape.sizes.len());
        let excess = sizes.len() - rank;
        // Which dimensions of size 1 go is only told by the type; the first ones do unless sizes say otherwise.
        let kept = types::memref_shape(op.result(0).ty()).map_or_else(Vec::new, |shape| shape.sizes);
        let dropped = dropped(&sizes, &kept, excess).ok_or_else(|| Unknown::operation(op))?;
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Code::SubView {
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
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Code::Window {
                to,
                view,
                shift: Some(shift),
                sizes,
                strides: None,
                elem,
                lanes,
            },
        );
        Ok(())
    }

    /// Other dimensions over the same elements; all that is asked for is a type that says what they are.
    fn regroup(&mut self, op: Op<'c>) -> Done<'c> {
        let ty = op.result(0).ty();
        let Some(shape) = types::memref_shape(ty) else {
            return Err(Unknown::operation(op));
        };
        let layout = types::memref_layout(ty).and_then(|layout| layout.strides.into_iter().collect());
        let (elem, lanes) = Self::element(op, shape.element)?;
        let sizes: Option<Box<[Index]>> = shape.sizes.iter().map(|size| size.map(Index::Const)).collect();
        let (Some(sizes), Some(strides)) = (sizes, layout) else {
            return Err(Unknown::new(op, "dimensions of unknown size can't be regrouped"));
        };
        let strides: Vec<i64> = strides;
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Code::Window {
                to,
                view,
                shift: None,
                sizes,
                strides: Some(strides.into()),
                elem,
                lanes,
            },
        );
        Ok(())
    }

    /// `llvm.extractvalue` from the struct that a memref is lowered to.
    fn member(&mut self, op: Op<'c>) -> Done<'c> {
        let position = super::ints(op, "position").unwrap_or_default();
        let dim = |i: i64| usize::try_from(i).unwrap_or(0);
        let member = match position.as_slice() {
            [0 | 1] => Member::Pointer,
            [2] => Member::Offset,
            [3, i] => Member::Size(dim(*i)),
            [4, i] => Member::Stride(dim(*i)),
            _ => return Err(Unknown::operation(op)),
        };
        let (view, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(op, Code::Address { to, view, member });
        Ok(())
    }

    fn offset(&mut self, op: Op<'c>) -> Done<'c> {
        let indices = super::ints(op, "rawConstantIndices").unwrap_or_default();
        let elem = op
            .attr("elem_type")
            .and_then(|ty| TypeAttribute::try_from(ty).ok())
            .map(|ty| Self::element(op, ty.value()))
            .transpose()?;
        let (Some((elem, lanes)), [index]) = (elem, indices.as_slice()) else {
            return Err(Unknown::operation(op));
        };
        let index = if op.num_operands() > 1 {
            Index::Reg(self.operand(op, 1))
        } else {
            Index::Const(*index)
        };
        let bytes = i64::try_from(elem.bytes()).unwrap_or(0) * i64::from(lanes);
        let (pointer, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Code::Offset {
                to,
                pointer,
                index,
                bytes,
            },
        );
        Ok(())
    }
}

/// Returns true if a memref of type `ty` lies in workgroup memory.
pub(super) fn is_workgroup(ty: Type<'_>) -> bool {
    let space = types::memory_space(ty).map(|space| space.to_string());
    matches!(
        space.as_deref(),
        Some("3 : i64" | "3" | "#gpu.address_space<workgroup>" | "3 : i32")
    )
}

/// The dimensions of `sizes` that are not in `kept`: as many as `excess`, each of size 1.
fn dropped(sizes: &[Index], kept: &[Option<i64>], excess: usize) -> Option<Box<[usize]>> {
    let mut dropped = Vec::new();
    let mut kept = kept.iter().peekable();
    for (i, size) in sizes.iter().enumerate() {
        let one = *size == Index::Const(1);
        let matches = kept.peek().is_some_and(|kept| match (size, kept) {
            (Index::Const(size), Some(kept)) => size == kept,
            (Index::Reg(_), None) => true,
            _ => false,
        });
        let left = sizes.len() - i - 1;
        if one && dropped.len() < excess && (!matches || left >= kept.len()) {
            dropped.push(i);
        } else if matches {
            kept.next();
        } else {
            return None;
        }
    }
    (dropped.len() == excess).then(|| dropped.into())
}
