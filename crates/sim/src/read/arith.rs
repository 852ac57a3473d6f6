//! Arithmetic: `arith`, `math`, and the integers that lowerings to the LLVM dialect compute addresses with.

use super::{Done, Reader, Unknown, number};
use crate::code::{Id, Op as Code, Reg};
use crate::scalar::{IntPredicate, Math, Scalar};
use crate::value::{Elem, Value as Constant};
use async_dialects::ir::Op;
use async_dialects::types;

impl<'c> Reader<'c> {
    pub(super) fn scalar(&mut self, op: Op<'c>, f: Scalar, elem: Elem, to: Reg, args: &[Reg]) {
        let args = args.into();
        self.emit(op, Code::Scalar { f, elem, to, args });
    }

    /// Reads `op` if it is arithmetic; returns false if it is not.
    pub(super) fn arith(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            "arith.constant" | "llvm.mlir.constant" => self.constant(op)?,
            "ub.poison" => {
                let to = self.reg(op.result(0));
                let value = Constant::Poison;
                self.emit(op, Code::Set { to, value });
            }
            "arith.select" => self.elementwise(op, Scalar::Select, Elem::INDEX)?,
            "gpu.thread_id" => self.id(op, Id::Thread)?,
            "gpu.block_id" => self.id(op, Id::Block)?,
            "gpu.block_dim" => self.id(op, Id::BlockDim)?,
            "gpu.grid_dim" => self.id(op, Id::GridDim)?,
            "gpu.global_id" => self.id(op, Id::Global)?,
            "gpu.lane_id" => self.id(op, Id::Lane)?,
            "gpu.subgroup_id" => self.id(op, Id::Subgroup)?,
            name => {
                let Some(f) = binary(name).or_else(|| unary(op, name)) else {
                    return Ok(false);
                };
                // Comparisons compute in the type that they compare.
                let compares = matches!(f, Scalar::CmpI(_) | Scalar::CmpF(_));
                let typed = if compares { op.operand(0) } else { op.result(0) };
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
        self.emit(op, Code::Scalar { f, elem, to, args });
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

    fn id(&mut self, op: Op<'c>, id: Id) -> Done<'c> {
        let dimension = op.attr("dimension").map(|dimension| dimension.to_string());
        let dim = match dimension.as_deref() {
            None | Some("#gpu<dim x>") => 0,
            Some("#gpu<dim y>") => 1,
            Some("#gpu<dim z>") => 2,
            Some(_) => return Err(Unknown::operation(op)),
        };
        let to = self.reg(op.result(0));
        self.emit(op, Code::Id { to, id, dim });
        Ok(())
    }
}

fn binary(name: &str) -> Option<Scalar> {
    Some(match name {
        "arith.addi" | "llvm.add" => Scalar::Add,
        "arith.subi" | "llvm.sub" => Scalar::Sub,
        "arith.muli" | "llvm.mul" => Scalar::Mul,
        "arith.divsi" => Scalar::DivS,
        "arith.divui" => Scalar::DivU,
        "arith.remsi" => Scalar::RemS,
        "arith.remui" => Scalar::RemU,
        "arith.ceildivsi" => Scalar::CeilDivS,
        "arith.ceildivui" => Scalar::CeilDivU,
        "arith.floordivsi" => Scalar::FloorDivS,
        "arith.andi" => Scalar::And,
        "arith.ori" => Scalar::Or,
        "arith.xori" => Scalar::Xor,
        "arith.shli" => Scalar::Shl,
        "arith.shrsi" => Scalar::ShrS,
        "arith.shrui" => Scalar::ShrU,
        "arith.minsi" => Scalar::MinS,
        "arith.minui" => Scalar::MinU,
        "arith.maxsi" => Scalar::MaxS,
        "arith.maxui" => Scalar::MaxU,
        "arith.addf" => Scalar::AddF,
        "arith.subf" => Scalar::SubF,
        "arith.mulf" => Scalar::MulF,
        "arith.divf" => Scalar::DivF,
        "arith.remf" => Scalar::RemF,
        "arith.minimumf" => Scalar::MinF,
        "arith.maximumf" => Scalar::MaxF,
        "arith.minnumf" => Scalar::MinNumF,
        "arith.maxnumf" => Scalar::MaxNumF,
        "math.fma" => Scalar::Fma,
        _ => return None,
    })
}

/// Comparisons, conversions and functions of one number.
fn unary(op: Op<'_>, name: &str) -> Option<Scalar> {
    let from = || {
        let ty = op.operand(0).ty();
        number(types::vector_shape(ty).map_or(ty, |shape| shape.element))
    };
    let width = || match from()? {
        Elem::Int(width) => Some(width),
        _ => None,
    };
    let predicate = || usize::try_from(op.int_attr("predicate")?).ok();
    Some(match name {
        "arith.cmpi" => Scalar::CmpI(*IntPredicate::ALL.get(predicate()?)?),
        "arith.cmpf" => Scalar::CmpF(u8::try_from(predicate()?).ok()?),
        "arith.negf" => Scalar::NegF,
        "arith.extsi" | "arith.index_cast" => Scalar::SignExtend(width()?),
        "arith.extui" | "arith.trunci" | "arith.index_castui" | "arith.bitcast" => Scalar::ZeroExtend,
        "arith.extf" | "arith.truncf" => Scalar::Convert(from()?),
        "arith.sitofp" => Scalar::FromInt(width()?),
        "arith.uitofp" => Scalar::FromUInt,
        "arith.fptosi" => Scalar::ToInt(from()?),
        "arith.fptoui" => Scalar::ToUInt(from()?),
        "math.absf" => Scalar::Math(Math::Abs),
        "math.ceil" => Scalar::Math(Math::Ceil),
        "math.cos" => Scalar::Math(Math::Cos),
        "math.exp" => Scalar::Math(Math::Exp),
        "math.exp2" => Scalar::Math(Math::Exp2),
        "math.floor" => Scalar::Math(Math::Floor),
        "math.log" => Scalar::Math(Math::Log),
        "math.log2" => Scalar::Math(Math::Log2),
        "math.rsqrt" => Scalar::Math(Math::Rsqrt),
        "math.sin" => Scalar::Math(Math::Sin),
        "math.sqrt" => Scalar::Math(Math::Sqrt),
        "math.tanh" => Scalar::Math(Math::Tanh),
        _ => return None,
    })
}
