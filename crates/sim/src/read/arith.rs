//! Arithmetic: `arith`, `math`, `index`, and what lowerings to the LLVM dialect make of it.
//!
//! **Refusals.** Types that the interpreter has no numbers of. `fastmath` allows other results and is not used; of overflow and `exact` flags, see
//! [`scalar`](crate::scalar).

use super::{Done, Reader, Unknown, number};
use crate::code::{Id, Op as Instruction, Reg};
use crate::scalar::{Class, IntPredicate, Math, Permute, Rounding, Scalar};
use crate::value::{Elem, Value as Constant};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, attr, gpu, index, llvm, math, nvgpu, nvvm, ub, vector};
use async_mlir::types;

impl<'c> Reader<'c> {
    pub(super) fn scalar(&mut self, op: Op<'c>, f: Scalar, elem: Elem, to: Reg, args: &[Reg]) {
        let args = args.into();
        self.emit(op, Instruction::Scalar { f, elem, to, args });
    }

    /// Reads `op` if it is arithmetic; returns false if it is not.
    pub(super) fn arith(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            arith::CONSTANT | llvm::MLIR_CONSTANT | index::CONSTANT | index::BOOL_CONSTANT => {
                self.constant(op)?;
            }
            // What is undefined may be another value at each use: none can be relied on.
            ub::POISON | llvm::MLIR_POISON | llvm::MLIR_UNDEF => {
                let to = self.reg(op.result(0));
                let value = Constant::Poison;
                self.emit(op, Instruction::Set { to, value });
            }
            arith::SELECT | llvm::SELECT => self.elementwise(op, Scalar::Select, Elem::INDEX)?,
            gpu::THREAD_ID => self.id(op, Id::Thread)?,
            gpu::BLOCK_ID => self.id(op, Id::Block)?,
            gpu::BLOCK_DIM => self.id(op, Id::BlockDim)?,
            gpu::GRID_DIM => self.id(op, Id::GridDim)?,
            gpu::GLOBAL_ID => self.id(op, Id::Global)?,
            gpu::LANE_ID => self.id(op, Id::Lane)?,
            gpu::SUBGROUP_ID => self.id(op, Id::Subgroup)?,
            gpu::NUM_SUBGROUPS => self.id(op, Id::Subgroups)?,
            gpu::SUBGROUP_SIZE | nvvm::READ_PTX_SREG_WARPSIZE => {
                self.set(op, op.result(0), Constant::int(32));
            }
            nvvm::READ_PTX_SREG_TID_X => self.register(op, Id::Thread, 0),
            nvvm::READ_PTX_SREG_TID_Y => self.register(op, Id::Thread, 1),
            nvvm::READ_PTX_SREG_TID_Z => self.register(op, Id::Thread, 2),
            nvvm::READ_PTX_SREG_NTID_X => self.register(op, Id::BlockDim, 0),
            nvvm::READ_PTX_SREG_NTID_Y => self.register(op, Id::BlockDim, 1),
            nvvm::READ_PTX_SREG_NTID_Z => self.register(op, Id::BlockDim, 2),
            nvvm::READ_PTX_SREG_CTAID_X => self.register(op, Id::Block, 0),
            nvvm::READ_PTX_SREG_CTAID_Y => self.register(op, Id::Block, 1),
            nvvm::READ_PTX_SREG_CTAID_Z => self.register(op, Id::Block, 2),
            nvvm::READ_PTX_SREG_NCTAID_X => self.register(op, Id::GridDim, 0),
            nvvm::READ_PTX_SREG_NCTAID_Y => self.register(op, Id::GridDim, 1),
            nvvm::READ_PTX_SREG_NCTAID_Z => self.register(op, Id::GridDim, 2),
            nvvm::READ_PTX_SREG_LANEID => self.register(op, Id::Lane, 0),
            nvvm::READ_PTX_SREG_WARPID => self.register(op, Id::Subgroup, 0),
            nvvm::READ_PTX_SREG_NWARPID => self.register(op, Id::Subgroups, 0),
            nvvm::READ_PTX_SREG_LANEMASK_EQ => self.register(op, Id::Lanes, 0),
            nvvm::READ_PTX_SREG_LANEMASK_LT => self.register(op, Id::Lanes, 1),
            nvvm::READ_PTX_SREG_LANEMASK_LE => self.register(op, Id::Lanes, 2),
            nvvm::READ_PTX_SREG_LANEMASK_GT => self.register(op, Id::Lanes, 3),
            nvvm::READ_PTX_SREG_LANEMASK_GE => self.register(op, Id::Lanes, 4),
            nvvm::READ_PTX_SREG_DYNAMIC_SMEM_SIZE => self.register(op, Id::DynamicWorkgroup, 0),
            arith::ADDUI_EXTENDED => self.two_results(op, [Scalar::Add, Scalar::Carry])?,
            arith::MULSI_EXTENDED => self.two_results(op, [Scalar::Mul, Scalar::MulHighS])?,
            arith::MULUI_EXTENDED => self.two_results(op, [Scalar::Mul, Scalar::MulHighU])?,
            math::SINCOS => self.two_results(op, [Math::Sin, Math::Cos].map(Scalar::Math))?,
            arith::SCALING_EXTF => self.scaling_extension(op)?,
            arith::SCALING_TRUNCF => self.scaling_truncation(op)?,
            nvvm::PRMT => self.permute_bytes(op)?,
            name => {
                let f = integer(name).or_else(|| float(name)).or_else(|| typed(op, name));
                let Some(f) = f.or_else(|| function(name).map(Scalar::Math)) else {
                    return Ok(false);
                };
                // Comparisons compute in the type that they compare.
                let typed = if f.compares() { op.operand(0) } else { op.result(0) };
                let elem = Self::elem(op, typed.ty())?;
                self.elementwise(op, f, elem)?;
            }
        }
        Ok(true)
    }

    fn elementwise(&mut self, op: Op<'c>, f: Scalar, elem: Elem) -> Done<'c> {
        let args = self.operands(op);
        if args.len() > 3 || op.num_results() != 1 {
            return Err(Unknown::operation(op));
        }
        let to = self.reg(op.result(0));
        self.emit(op, Instruction::Scalar { f, elem, to, args });
        Ok(())
    }

    /// Each result is computed of the same operands.
    fn two_results(&mut self, op: Op<'c>, functions: [Scalar; 2]) -> Done<'c> {
        let elem = Self::elem(op, op.operand(0).ty())?;
        let args = self.operands(op);
        for (f, result) in functions.into_iter().zip(op.results()) {
            let to = self.reg(result);
            self.scalar(op, f, elem, to, &args);
        }
        Ok(())
    }

    /// What `arith.expand-ops` makes of it: the number and its scale, a power of two, are multiplied in the type of the result.
    fn scaling_extension(&mut self, op: Op<'c>) -> Done<'c> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let number = self.converted(op, 0, elem)?;
        let scale = self.scale(op, elem)?;
        let to = self.reg(op.result(0));
        self.scalar(op, Scalar::MulF, elem, to, &[number, scale]);
        Ok(())
    }

    /// The number is divided by its scale in its own type.
    fn scaling_truncation(&mut self, op: Op<'c>) -> Done<'c> {
        let elem = Self::elem(op, op.operand(0).ty())?;
        let rounding = rounding(op).ok_or_else(|| Unknown::operation(op))?;
        let (number, scale) = (self.operand(op, 0), self.scale(op, elem)?);
        let (quotient, to) = (self.fresh(), self.reg(op.result(0)));
        self.scalar(op, Scalar::DivF, elem, quotient, &[number, scale]);
        let into = Self::elem(op, op.result(0).ty())?;
        self.scalar(op, Scalar::Convert(elem, rounding), into, to, &[quotient]);
        Ok(())
    }

    /// Operand `i` as a number of type `elem`, which has all of its type.
    fn converted(&mut self, op: Op<'c>, i: usize, elem: Elem) -> Result<Reg, Unknown<'c>> {
        let from = Self::elem(op, op.operand(i).ty())?;
        let (number, to) = (self.operand(op, i), self.fresh());
        self.scalar(
            op,
            Scalar::Convert(from, Rounding::NearestEven),
            elem,
            to,
            &[number],
        );
        Ok(to)
    }

    /// The scale, which is operand 1: an `f8E8M0FNU`, which a wider number is rounded to before.
    fn scale(&mut self, op: Op<'c>, elem: Elem) -> Result<Reg, Unknown<'c>> {
        let power = self.converted(op, 1, Elem::F8E8M0FNU)?;
        let to = self.fresh();
        let widen = Scalar::Convert(Elem::F8E8M0FNU, Rounding::NearestEven);
        self.scalar(op, widen, elem, to, &[power]);
        Ok(to)
    }

    /// The operands are one or two numbers, then the selector; in modes without the second number, no byte of it is picked.
    fn permute_bytes(&mut self, op: Op<'c>) -> Done<'c> {
        let mode = op.attr(attr::MODE).and_then(types::keyword);
        let mode = mode.and_then(Permute::from_name);
        let mode = mode.ok_or_else(|| Unknown::operation(op))?;
        let last = op.num_operands() - 1;
        let args = [0, last - 1, last].map(|i| self.operand(op, i));
        let to = self.reg(op.result(0));
        self.scalar(op, Scalar::Permute(mode), Elem::Int(32), to, &args);
        Ok(())
    }

    fn constant(&mut self, op: Op<'c>) -> Done<'c> {
        let numbers = op.attr(attr::VALUE).and_then(types::constant_numbers);
        let ty = op.result(0).ty();
        let elem = Self::elem(op, ty)?;
        let Some(numbers) = numbers else {
            return Err(Unknown::new(op, "the interpreter does not know this constant"));
        };
        let wrapped: Vec<u64> = numbers.into_iter().map(|bits| elem.wrap(bits)).collect();
        let value = if number(ty).is_some() {
            Constant::Bits(wrapped[0])
        } else {
            Constant::Vector(wrapped.into())
        };
        self.set(op, op.result(0), value);
        Ok(())
    }

    fn register(&mut self, op: Op<'c>, id: Id, dim: u8) {
        let to = self.reg(op.result(0));
        self.emit(op, Instruction::Id { to, id, dim });
    }

    fn id(&mut self, op: Op<'c>, id: Id) -> Done<'c> {
        let dim = match op.attr(attr::DIMENSION).map(types::keyword) {
            None | Some(Some("x")) => 0,
            Some(Some("y")) => 1,
            Some(Some("z")) => 2,
            Some(_) => return Err(Unknown::operation(op)),
        };
        let to = self.reg(op.result(0));
        self.emit(op, Instruction::Id { to, id, dim });
        Ok(())
    }
}

/// Functions of integers of one type.
fn integer(name: &str) -> Option<Scalar> {
    Some(match name {
        arith::ADDI | llvm::ADD | index::ADD => Scalar::Add,
        arith::SUBI | llvm::SUB | index::SUB => Scalar::Sub,
        arith::MULI | llvm::MUL | index::MUL => Scalar::Mul,
        arith::DIVSI | llvm::SDIV | index::DIVS => Scalar::DivS,
        arith::DIVUI | llvm::UDIV | index::DIVU => Scalar::DivU,
        arith::REMSI | llvm::SREM | index::REMS => Scalar::RemS,
        arith::REMUI | llvm::UREM | index::REMU => Scalar::RemU,
        arith::CEILDIVSI | index::CEILDIVS => Scalar::CeilDivS,
        arith::CEILDIVUI | index::CEILDIVU => Scalar::CeilDivU,
        arith::FLOORDIVSI | index::FLOORDIVS => Scalar::FloorDivS,
        arith::ANDI | llvm::AND | index::AND => Scalar::And,
        arith::ORI | llvm::OR | index::OR => Scalar::Or,
        arith::XORI | llvm::XOR | index::XOR => Scalar::Xor,
        arith::SHLI | llvm::SHL | index::SHL => Scalar::Shl,
        arith::SHRSI | llvm::ASHR | index::SHRS => Scalar::ShrS,
        arith::SHRUI | llvm::LSHR | index::SHRU => Scalar::ShrU,
        arith::MINSI | llvm::INTR_SMIN | index::MINS => Scalar::MinS,
        arith::MINUI | llvm::INTR_UMIN | index::MINU => Scalar::MinU,
        arith::MAXSI | llvm::INTR_SMAX | index::MAXS => Scalar::MaxS,
        arith::MAXUI | llvm::INTR_UMAX | index::MAXU => Scalar::MaxU,
        math::ABSI => Scalar::AbsI,
        math::IPOWI => Scalar::PowI,
        math::CTPOP => Scalar::CtPop,
        math::CTLZ => Scalar::CtLz,
        math::CTTZ => Scalar::CtTz,
        _ => return None,
    })
}

/// Functions of floating-point numbers of one type, but for those in [`function`].
fn float(name: &str) -> Option<Scalar> {
    Some(match name {
        arith::ADDF | llvm::FADD => Scalar::AddF,
        arith::SUBF | llvm::FSUB => Scalar::SubF,
        arith::MULF | llvm::FMUL => Scalar::MulF,
        arith::DIVF | llvm::FDIV => Scalar::DivF,
        arith::REMF | llvm::FREM => Scalar::RemF,
        arith::NEGF | llvm::FNEG => Scalar::NegF,
        arith::MINIMUMF | llvm::INTR_MINIMUM => Scalar::MinF,
        arith::MAXIMUMF | llvm::INTR_MAXIMUM => Scalar::MaxF,
        arith::MINNUMF | llvm::INTR_MINNUM => Scalar::MinNumF,
        arith::MAXNUMF | llvm::INTR_MAXNUM => Scalar::MaxNumF,
        math::FMA | vector::FMA | llvm::INTR_FMA => Scalar::Fma,
        math::CLAMPF => Scalar::Clamp,
        math::POWF => Scalar::PowF,
        math::ATAN2 => Scalar::Atan2,
        math::COPYSIGN => Scalar::CopySign,
        math::ISFINITE => Scalar::Is(Class::Finite),
        math::ISINF => Scalar::Is(Class::Infinite),
        math::ISNAN => Scalar::Is(Class::Nan),
        math::ISNORMAL => Scalar::Is(Class::Normal),
        _ => return None,
    })
}

/// Comparisons and conversions, which depend on attributes or on the type of an operand.
fn typed(op: Op<'_>, name: &str) -> Option<Scalar> {
    let from = || number_of(op.operand(0));
    let width = || int_width(op.operand(0));
    let predicate = || usize::try_from(op.int_attr(attr::PREDICATE)?).ok();
    Some(match name {
        arith::CMPI | llvm::ICMP => Scalar::CmpI(*IntPredicate::ALL.get(predicate()?)?),
        index::CMP => {
            let predicate = types::keyword(op.attr(attr::INDEX_PREDICATE)?)?;
            Scalar::CmpI(IntPredicate::from_name(predicate)?)
        }
        arith::CMPF | llvm::FCMP => Scalar::CmpF(u8::try_from(predicate()?).ok()?),
        arith::EXTSI | arith::INDEX_CAST | index::CASTS | llvm::SEXT => Scalar::SignExtend(width()?),
        arith::EXTUI
        | arith::TRUNCI
        | arith::INDEX_CASTUI
        | arith::BITCAST
        | index::CASTU
        | llvm::ZEXT
        | llvm::TRUNC => Scalar::ZeroExtend,
        llvm::BITCAST if lanes_of(op.operand(0)) == lanes_of(op.result(0)) => Scalar::ZeroExtend,
        nvgpu::RCP | nvvm::RCP_APPROX_FTZ_F => Scalar::Math(Math::RcpFtz),
        arith::EXTF | arith::TRUNCF | llvm::FPEXT | llvm::FPTRUNC => Scalar::Convert(from()?, rounding(op)?),
        arith::SITOFP | llvm::SITOFP => Scalar::FromInt(width()?),
        arith::UITOFP | llvm::UITOFP => Scalar::FromUInt,
        arith::FPTOSI | llvm::FPTOSI => Scalar::ToInt(from()?),
        arith::FPTOUI | llvm::FPTOUI => Scalar::ToUInt(from()?),
        math::FPOWI => Scalar::PowFI(int_width(op.operand(1))?),
        _ => return None,
    })
}

/// The type of the numbers in `value`.
fn number_of(value: Value<'_>) -> Option<Elem> {
    let ty = value.ty();
    number(types::vector_shape(ty).map_or(ty, |shape| shape.element))
}

/// The bits of the integers in `value`.
fn int_width(value: Value<'_>) -> Option<u8> {
    match number_of(value)? {
        Elem::Int(width) => Some(width),
        _ => None,
    }
}

/// The sizes of a vector.
fn lanes_of(value: Value<'_>) -> Option<Vec<Option<i64>>> {
    types::vector_shape(value.ty()).map(|shape| shape.sizes)
}

/// The rounding mode that `op` asks for, to nearest even if none; `None` if it is not known.
fn rounding(op: Op<'_>) -> Option<Rounding> {
    if op.attr(attr::ROUNDING_MODE).is_none() {
        return Some(Rounding::default());
    }
    let mode = usize::try_from(op.int_attr(attr::ROUNDING_MODE)?).ok()?;
    Rounding::ALL.get(mode).copied()
}

fn function(name: &str) -> Option<Math> {
    Some(match name {
        math::ABSF => Math::Abs,
        math::ACOS => Math::Acos,
        math::ACOSH => Math::Acosh,
        math::ASIN => Math::Asin,
        math::ASINH => Math::Asinh,
        math::ATAN => Math::Atan,
        math::ATANH => Math::Atanh,
        math::CBRT => Math::Cbrt,
        math::CEIL => Math::Ceil,
        math::COS => Math::Cos,
        math::COSH => Math::Cosh,
        math::ERF => Math::Erf,
        math::ERFC => Math::Erfc,
        math::EXP => Math::Exp,
        math::EXP2 => Math::Exp2,
        math::EXPM1 => Math::ExpM1,
        math::FLOOR => Math::Floor,
        math::LOG => Math::Log,
        math::LOG10 => Math::Log10,
        math::LOG1P => Math::Log1p,
        math::LOG2 => Math::Log2,
        math::ROUND => Math::Round,
        math::ROUNDEVEN => Math::RoundEven,
        math::RSQRT => Math::Rsqrt,
        math::SIN => Math::Sin,
        math::SINH => Math::Sinh,
        math::SQRT => Math::Sqrt,
        math::TAN => Math::Tan,
        math::TANH => Math::Tanh,
        math::TRUNC => Math::Trunc,
        _ => return None,
    })
}
