//! Buffers, views of them, and accesses; also what lowering makes of addresses.

use super::{Done, Reader, Unknown, lanes};
use crate::code::{Access, BufferDecl, Index, Init, Op as Instruction, Reg};
use crate::scalar::Scalar;
use crate::value::{BufferId, Elem, Value as Constant, View, row_by_row};
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::names::{attr, gpu, memref, vector};
use async_mlir::types;

/// Buffers that are not told otherwise are aligned as `cudaMalloc` does.
const DEFAULT_ALIGN: u32 = 256;
/// What workgroup buffers are aligned to at least.
pub(super) const COPY_ALIGN: u32 = 16;
/// The same where tiles are copied.
pub(super) const TILE_ALIGN: u32 = 1024;

impl<'c> Reader<'c> {
    /// Reads `op` if it is about memory; returns false if it is not.
    pub(super) fn memory(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            memref::LOAD => self.load(op, 1, 1)?,
            vector::LOAD | vector::STORE if self.tile_access(op)? => {}
            vector::LOAD => {
                let count = Self::elements_of(op, op.result(0).ty(), op.operand(0).ty())?;
                self.load(op, 1, count)?;
            }
            memref::STORE | vector::STORE => {
                let to = self.access(op, 1, 2);
                let value = self.operand(op, 0);
                self.emit(op, Instruction::Store { value, to });
            }
            memref::ALLOC | memref::ALLOCA => self.alloc(op)?,
            memref::DEALLOC => {
                let view = self.operand(op, 0);
                self.emit(op, Instruction::Free { view });
            }
            memref::GET_GLOBAL => self.get_global(op)?,
            gpu::DYNAMIC_SHARED_MEMORY => self.dynamic_workgroup(op),
            gpu::PRINTF => self.print(op)?,
            memref::ATOMIC_RMW => self.atomic(op)?,
            memref::GENERIC_ATOMIC_RMW => self.atomic_region(op)?,
            // It moves nothing.
            memref::PREFETCH => {}
            memref::COPY => self.copy_of_memrefs(op)?,
            _ => return self.masked(op),
        }
        Ok(true)
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
            Instruction::Load {
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

    /// The strides of a memref; `None` if some of them are dynamic.
    pub(super) fn strides(op: Op<'c>, ty: Type<'c>) -> Result<Option<Vec<i64>>, Unknown<'c>> {
        let layout = types::memref_layout(ty);
        let layout = layout
            .ok_or_else(|| Unknown::new(op, format!("the interpreter has no memrefs laid out as {ty} is")))?;
        Ok(layout.strides.into_iter().collect())
    }

    /// A buffer for a memref of known sizes.
    fn declare(
        &mut self,
        op: Op<'c>,
        (to, ty): (Value<'c>, Type<'c>),
        name: String,
        align: u32,
    ) -> Result<BufferDecl, Unknown<'c>> {
        let Some(shape) = types::memref_shape(ty) else {
            return Err(Unknown::operation(op));
        };
        let (elem, lanes) = Self::element(op, shape.element)?;
        let sizes: Option<Vec<i64>> = shape.sizes.iter().copied().collect();
        let Some(sizes) = sizes else {
            return Err(Unknown::new(
                op,
                format!("a buffer of type {ty} has no known size"),
            ));
        };
        let strides = Self::strides(op, ty)?.unwrap_or_else(|| row_by_row(&sizes));
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
            let message = format!("a buffer of type {ty} is too large: all of them have 1 GiB");
            return Err(Unknown::new(op, message));
        };
        Ok(BufferDecl {
            to: self.reg(to),
            name,
            view,
            align,
            init: Init::Unwritten(bytes),
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
        let name = match self.value_names.at(arg.location()) {
            Some(name) => format!("workgroup buffer {name}"),
            None => format!("workgroup buffer {}", self.code.workgroup.len()),
        };
        let decl = self.declare(function, (arg, arg.ty()), name, align.unwrap_or(COPY_ALIGN))?;
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
        let dynamic = if op.is(memref::ALLOC) || op.is(memref::ALLOCA) {
            self.operands(op)
        } else {
            Box::new([])
        };
        let sizes = shape.sizes.into();
        self.emit(
            op,
            Instruction::Alloc {
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
        let name = match self.value_names.at(op.location()) {
            Some(name) => format!("workgroup buffer {name}"),
            None => format!("the workgroup buffer of {}", super::short(op.location())),
        };
        let align = op
            .int_attr(attr::ALIGNMENT)
            .and_then(|align| u32::try_from(align).ok());
        let mut decl = self.declare(op, (value, value.ty()), name, align.unwrap_or(COPY_ALIGN))?;
        // A function that is called twice has two of them.
        decl.to = self.fresh();
        let to = self.reg(value);
        self.emit(op, Instruction::Moves([(to, decl.to)].into()));
        self.code.workgroup.push(decl);
        Ok(())
    }

    fn get_global(&mut self, op: Op<'c>) -> Done<'c> {
        let name = op.attr(attr::NAME).and_then(types::symbol).unwrap_or_default();
        let found = op.ancestors().find_map(|ancestor| {
            let region = (ancestor.num_regions() == 1).then(|| ancestor.region(0))?;
            let ops = region.first()?.ops();
            ops.into_iter()
                .find(|op| op.is(memref::GLOBAL) && op.str_attr(attr::SYM_NAME) == Some(name))
        });
        let Some(global) = found else {
            return Err(Unknown::new(op, format!("there is no memref.global '{name}'")));
        };
        let ty = op.result(0).ty();
        let shape = types::memref_shape(ty);
        if is_workgroup(ty) && shape.is_some_and(|shape| shape.sizes.contains(&Some(0))) {
            return self.start_of_dynamic(op);
        }
        // Several operations name one buffer.
        let known = self.globals.get(&global).copied();
        if let Some(known) = known {
            let to = self.reg(op.result(0));
            self.scalar(op, Scalar::Same, Elem::INDEX, to, &[known]);
            return Ok(());
        }
        let align = global
            .int_attr(attr::ALIGNMENT)
            .and_then(|align| u32::try_from(align).ok());
        let workgroup = is_workgroup(ty);
        let align = align.unwrap_or(if workgroup { COPY_ALIGN } else { DEFAULT_ALIGN });
        let mut decl = self.declare(op, (op.result(0), ty), format!("@{name}"), align)?;
        let numbers = global.attr(attr::INITIAL_VALUE).and_then(types::constant_numbers);
        let elem = TypeAttribute::try_from(global.attr(attr::TYPE).ok_or_else(|| Unknown::operation(op))?)
            .ok()
            .and_then(|ty| types::memref_shape(ty.value()))
            .map(|shape| Self::element(op, shape.element))
            .transpose()?;
        if let Some((numbers, (elem, _))) = numbers.zip(elem) {
            let bytes = numbers.iter().flat_map(|bits| {
                let bytes = bits.to_le_bytes();
                bytes.into_iter().take(elem.bytes()).collect::<Vec<u8>>()
            });
            decl.init = Init::Bytes(bytes.collect());
        }
        self.globals.insert(global, decl.to);
        if workgroup {
            self.code.workgroup.push(decl);
        } else {
            self.code.global.push(decl);
        }
        Ok(())
    }

    fn dynamic_workgroup(&mut self, op: Op<'c>) {
        let dynamic = self.dynamic();
        let to = self.reg(op.result(0));
        self.scalar(op, Scalar::Same, Elem::INDEX, to, &[dynamic]);
    }

    /// A global of workgroup memory without elements is where dynamic workgroup memory begins, as it is in PTX.
    fn start_of_dynamic(&mut self, op: Op<'c>) -> Done<'c> {
        let Some(shape) = types::memref_shape(op.result(0).ty()) else {
            return Err(Unknown::operation(op));
        };
        let (elem, lanes) = Self::element(op, shape.element)?;
        let (view, shift) = (self.dynamic(), self.fresh());
        self.emit(
            op,
            Instruction::Set {
                to: shift,
                value: Constant::Bits(0),
            },
        );
        let sizes = shape.sizes.iter().map(|size| Index::Const(size.unwrap_or(0)));
        let sizes = sizes.collect();
        self.window(op, (view, shift), sizes, (elem, lanes));
        Ok(())
    }

    /// Dynamic workgroup memory.
    fn dynamic(&mut self) -> Reg {
        if let Some(known) = self.dynamic {
            return known;
        }
        let to = self.fresh();
        self.dynamic = Some(to);
        self.code.workgroup.push(BufferDecl {
            to,
            name: "dynamic workgroup memory".into(),
            view: View {
                buffer: BufferId(0),
                base: 0,
                offset: 0,
                sizes: vec![0],
                strides: vec![1],
                elem: Elem::Int(8),
                lanes: 1,
            },
            align: 1024,
            init: Init::Dynamic,
        });
        to
    }
}
