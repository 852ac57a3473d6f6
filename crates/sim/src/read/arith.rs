//! Arithmetic: `arith`, `math`, `index`, and what lowerings to the LLVM dialect make of it.
//!
//! **Refusals.** Operations of two results (`arith.mulsi_extended`, `math.sincos`), and types that the interpreter has no
//! numbers of. `fastmath` allows other results and is not used; of overflow and `exact` flags, see
//! [`scalar`](crate::scalar).

use super::{Done, Reader, Unknown, number};
use crate::code::{Id, Op as Instruction, Reg};
use crate::scalar::{Class, IntPredicate, Math, Rounding, Scalar};
use crate::value::{Elem, Value as Constant};
use async_dialects::ir::{Op, Value};
use async_dialects::names::attr;
use async_dialects::types;

impl<'c> Reader<'c> {
    pub(super) fn scalar(&mut self, op: Op<'c>, f: Scalar, elem: Elem, to: Reg, args: &[Reg]) {
        let args = args.into();
        self.emit(op, Instruction::Scalar { f, elem, to, args });
    }

    /// Reads `op` if it is arithmetic; returns false if it is not.
    pub(super) fn arith(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            "arith.constant" | "llvm.mlir.constant" | "index.constant" | "index.bool.constant" => {
                self.constant(op)?;
            }
            // What is undefined may be another value at each use: none can be relied on.
            "ub.poison" | "llvm.mlir.poison" | "llvm.mlir.undef" => {
                let to = self.reg(op.result(0));
                let value = Constant::Poison;
                self.emit(op, Instruction::Set { to, value });
            }
            "arith.select" | "llvm.select" => self.elementwise(op, Scalar::Select, Elem::INDEX)?,
            "gpu.thread_id" => self.id(op, Id::Thread)?,
            "gpu.block_id" => self.id(op, Id::Block)?,
            "gpu.block_dim" => self.id(op, Id::BlockDim)?,
            "gpu.grid_dim" => self.id(op, Id::GridDim)?,
            "gpu.global_id" => self.id(op, Id::Global)?,
            "gpu.lane_id" => self.id(op, Id::Lane)?,
            "gpu.subgroup_id" => self.id(op, Id::Subgroup)?,
            "gpu.num_subgroups" => self.id(op, Id::Subgroups)?,
            "gpu.subgroup_size" | "nvvm.read.ptx.sreg.warpsize" => {
                self.set(op, op.result(0), Constant::int(32));
            }
            name if name.starts_with("nvvm.read.ptx.sreg.") => self.register(op, name)?,
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

    fn constant(&mut self, op: Op<'c>) -> Done<'c> {
        let numbers = op.attr("value").and_then(types::constant_numbers);
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

    /// A special register of PTX, such as `nvvm.read.ptx.sreg.tid.x`.
    fn register(&mut self, op: Op<'c>, name: &str) -> Done<'c> {
        let name = name.trim_start_matches("nvvm.read.ptx.sreg.");
        let (name, dim) = match name.split_once('.') {
            Some((name, "x")) => (name, 0),
            Some((name, "y")) => (name, 1),
            Some((name, "z")) => (name, 2),
            _ => (name, 0),
        };
        let id = match name {
            "tid" => Id::Thread,
            "ntid" => Id::BlockDim,
            "ctaid" => Id::Block,
            "nctaid" => Id::GridDim,
            "laneid" => Id::Lane,
            "warpid" => Id::Subgroup,
            "nwarpid" => Id::Subgroups,
            _ => return Err(Unknown::operation(op)),
        };
        let to = self.reg(op.result(0));
        self.emit(op, Instruction::Id { to, id, dim });
        Ok(())
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
        "arith.addi" | "llvm.add" | "index.add" => Scalar::Add,
        "arith.subi" | "llvm.sub" | "index.sub" => Scalar::Sub,
        "arith.muli" | "llvm.mul" | "index.mul" => Scalar::Mul,
        "arith.divsi" | "llvm.sdiv" | "index.divs" => Scalar::DivS,
        "arith.divui" | "llvm.udiv" | "index.divu" => Scalar::DivU,
        "arith.remsi" | "llvm.srem" | "index.rems" => Scalar::RemS,
        "arith.remui" | "llvm.urem" | "index.remu" => Scalar::RemU,
        "arith.ceildivsi" | "index.ceildivs" => Scalar::CeilDivS,
        "arith.ceildivui" | "index.ceildivu" => Scalar::CeilDivU,
        "arith.floordivsi" | "index.floordivs" => Scalar::FloorDivS,
        "arith.andi" | "llvm.and" | "index.and" => Scalar::And,
        "arith.ori" | "llvm.or" | "index.or" => Scalar::Or,
        "arith.xori" | "llvm.xor" | "index.xor" => Scalar::Xor,
        "arith.shli" | "llvm.shl" | "index.shl" => Scalar::Shl,
        "arith.shrsi" | "llvm.ashr" | "index.shrs" => Scalar::ShrS,
        "arith.shrui" | "llvm.lshr" | "index.shru" => Scalar::ShrU,
        "arith.minsi" | "llvm.intr.smin" | "index.mins" => Scalar::MinS,
        "arith.minui" | "llvm.intr.umin" | "index.minu" => Scalar::MinU,
        "arith.maxsi" | "llvm.intr.smax" | "index.maxs" => Scalar::MaxS,
        "arith.maxui" | "llvm.intr.umax" | "index.maxu" => Scalar::MaxU,
        "math.absi" => Scalar::AbsI,
        "math.ipowi" => Scalar::PowI,
        "math.ctpop" => Scalar::CtPop,
        "math.ctlz" => Scalar::CtLz,
        "math.cttz" => Scalar::CtTz,
        _ => return None,
    })
}

/// Functions of floating-point numbers of one type, but for those in [`function`].
fn float(name: &str) -> Option<Scalar> {
    Some(match name {
        "arith.addf" | "llvm.fadd" => Scalar::AddF,
        "arith.subf" | "llvm.fsub" => Scalar::SubF,
        "arith.mulf" | "llvm.fmul" => Scalar::MulF,
        "arith.divf" | "llvm.fdiv" => Scalar::DivF,
        "arith.remf" | "llvm.frem" => Scalar::RemF,
        "arith.negf" | "llvm.fneg" => Scalar::NegF,
        "arith.minimumf" | "llvm.intr.minimum" => Scalar::MinF,
        "arith.maximumf" | "llvm.intr.maximum" => Scalar::MaxF,
        "arith.minnumf" | "llvm.intr.minnum" => Scalar::MinNumF,
        "arith.maxnumf" | "llvm.intr.maxnum" => Scalar::MaxNumF,
        "math.fma" | "vector.fma" | "llvm.intr.fma" => Scalar::Fma,
        "math.clampf" => Scalar::Clamp,
        "math.powf" => Scalar::PowF,
        "math.atan2" => Scalar::Atan2,
        "math.copysign" => Scalar::CopySign,
        "math.isfinite" => Scalar::Is(Class::Finite),
        "math.isinf" => Scalar::Is(Class::Infinite),
        "math.isnan" => Scalar::Is(Class::Nan),
        "math.isnormal" => Scalar::Is(Class::Normal),
        _ => return None,
    })
}

/// Comparisons and conversions, which depend on attributes or on the type of an operand.
fn typed(op: Op<'_>, name: &str) -> Option<Scalar> {
    let from = || number_of(op.operand(0));
    let width = || int_width(op.operand(0));
    let predicate = || usize::try_from(op.int_attr("predicate")?).ok();
    Some(match name {
        "arith.cmpi" | "llvm.icmp" => Scalar::CmpI(*IntPredicate::ALL.get(predicate()?)?),
        "index.cmp" => {
            let predicate = types::keyword(op.attr("pred")?)?;
            Scalar::CmpI(IntPredicate::from_name(predicate)?)
        }
        "arith.cmpf" | "llvm.fcmp" => Scalar::CmpF(u8::try_from(predicate()?).ok()?),
        "arith.extsi" | "arith.index_cast" | "index.casts" | "llvm.sext" => Scalar::SignExtend(width()?),
        "arith.extui" | "arith.trunci" | "arith.index_castui" | "arith.bitcast" | "index.castu"
        | "llvm.zext" | "llvm.trunc" => Scalar::ZeroExtend,
        "llvm.bitcast" if lanes_of(op.operand(0)) == lanes_of(op.result(0)) => Scalar::ZeroExtend,
        "arith.extf" | "arith.truncf" | "llvm.fpext" | "llvm.fptrunc" => {
            Scalar::Convert(from()?, rounding(op)?)
        }
        "arith.sitofp" | "llvm.sitofp" => Scalar::FromInt(width()?),
        "arith.uitofp" | "llvm.uitofp" => Scalar::FromUInt,
        "arith.fptosi" | "llvm.fptosi" => Scalar::ToInt(from()?),
        "arith.fptoui" | "llvm.fptoui" => Scalar::ToUInt(from()?),
        "math.fpowi" => Scalar::PowFI(int_width(op.operand(1))?),
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
    if op.attr("roundingmode").is_none() {
        return Some(Rounding::default());
    }
    let mode = usize::try_from(op.int_attr("roundingmode")?).ok()?;
    Rounding::ALL.get(mode).copied()
}

fn function(name: &str) -> Option<Math> {
    Some(match name.strip_prefix("math.")? {
        "absf" => Math::Abs,
        "acos" => Math::Acos,
        "acosh" => Math::Acosh,
        "asin" => Math::Asin,
        "asinh" => Math::Asinh,
        "atan" => Math::Atan,
        "atanh" => Math::Atanh,
        "cbrt" => Math::Cbrt,
        "ceil" => Math::Ceil,
        "cos" => Math::Cos,
        "cosh" => Math::Cosh,
        "erf" => Math::Erf,
        "erfc" => Math::Erfc,
        "exp" => Math::Exp,
        "exp2" => Math::Exp2,
        "expm1" => Math::ExpM1,
        "floor" => Math::Floor,
        "log" => Math::Log,
        "log10" => Math::Log10,
        "log1p" => Math::Log1p,
        "log2" => Math::Log2,
        "round" => Math::Round,
        "roundeven" => Math::RoundEven,
        "rsqrt" => Math::Rsqrt,
        "sin" => Math::Sin,
        "sinh" => Math::Sinh,
        "sqrt" => Math::Sqrt,
        "tan" => Math::Tan,
        "tanh" => Math::Tanh,
        "trunc" => Math::Trunc,
        _ => return None,
    })
}
