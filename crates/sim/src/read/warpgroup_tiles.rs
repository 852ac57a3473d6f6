//! Matrix multiplication of warpgroups: `gpux.wgmma`, and `nvgpu.warpgroup.*` as upstream lowers it to `nvvm.wgmma.*`.
//!
//! **Refusals.** Of `nvgpu`'s, matrices for which upstream's descriptors are of something else than the types say: its steps
//! along K and M are right for rows of 64 numbers of 16 bits, swizzled by 128 bytes, and for B as it lies in rows (`transposeB`).

use super::{Done, Reader, Unknown, number};
use crate::code::{Factor, Left, LeftFragment, Op as Instruction, Reg, VectorOp, Warpgroup, Wgmma};
use crate::scalar::Scalar;
use crate::value::{Elem, Value as Constant};
use crate::wgmma::{Descriptor, Major, ROWS, Swizzle};
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{attr, nvgpu};
use async_mlir::nvgpu::{accumulated_matrix, described_matrix, tensor_map};
use async_mlir::types;

/// The numbers of a row of A and of B's boxes in `nvgpu.warpgroup.mma`, which are as many as K has.
const K: usize = 64;
/// The bytes of K that one multiplication has.
const STEP: usize = 32;
/// The bytes of a row, and of an address in descriptors.
const LINE: u64 = 128;
/// The threads of a warpgroup.
const WARPGROUP: u32 = 128;
/// The most bytes that it has in registers: 255 of 32 bits in each thread.
const MOST_BYTES: usize = 128 * 255 * 4;
const UNIT: u64 = 16;

/// The numbers of rows and columns, and the type of the elements.
type Matrix = ([usize; 2], Elem);

/// What is multiplied.
struct Product {
    /// The rows of A, the columns of B, and what A has as columns and B as rows.
    rows: usize,
    n: usize,
    k: usize,
    /// The types of the numbers of A and B, and which of their dimensions is contiguous.
    elems: [Elem; 2],
    majors: [Major; 2],
    /// True if A is in registers.
    in_registers: bool,
    /// True if the numbers of A and B have no sign.
    unsigned: [bool; 2],
    /// The type of the numbers of the accumulator.
    output: Elem,
    /// True if each multiplication has a token.
    awaited: bool,
}

impl Product {
    /// What `op` multiplies, whose last operands are A, B and the accumulator; A is MxK unless it is transposed, and B is KxN.
    fn of(op: Op<'_>, transposed: [bool; 2]) -> Result<Self, Unknown<'_>> {
        let found = vector_matrix(op.result(0).ty()).filter(fits);
        let ([rows, n], output) = found.ok_or_else(|| Unknown::operation(op))?;
        let first = op.num_operands() - 3;
        let in_registers = accumulated_matrix(op.operand(first).ty()).is_some();
        let described = |i: usize| {
            let ty = op.operand(first + i).ty();
            if i == 0 && in_registers {
                return vector_matrix(ty);
            }
            let ty = described_matrix(ty)?;
            let (mut sizes, elem) = matrix(ty, types::memref_shape(ty).map(|shape| shape.element))?;
            if transposed[i] {
                sizes.reverse();
            }
            Some((sizes, elem))
        };
        let is_unsigned = |i: usize| {
            let ty = op.operand(first + i).ty();
            let in_memory = described_matrix(ty).and_then(types::memref_shape);
            let shape = in_memory.or_else(|| accumulated_matrix(ty).and_then(types::vector_shape));
            let integer = shape.and_then(|shape| IntegerType::try_from(shape.element).ok());
            integer.is_some_and(|integer| integer.is_unsigned())
        };
        let (Some((a, elem)), Some((b, other))) = (described(0), described(1)) else {
            return Err(Unknown::operation(op));
        };
        if a != [rows, b[0]] || b[1] != n {
            return Err(Unknown::operation(op));
        }
        let major = |is_k| if is_k { Major::K } else { Major::MN };
        Ok(Self {
            rows,
            n,
            k: b[0],
            elems: [elem, other],
            majors: [major(!transposed[0]), major(transposed[1])],
            in_registers,
            unsigned: [0, 1].map(is_unsigned),
            output,
            awaited: false,
        })
    }

    /// Where the part of A or B begins that has block `block` of 64 rows (or columns) and step `step` of K, in units of a
    /// descriptor.
    fn offset(&self, i: usize, block: usize, step: usize) -> u64 {
        let (block, step) = (block as u64, step as u64);
        let bytes = match self.majors[i] {
            Major::K => block * ROWS as u64 * LINE + step * STEP as u64,
            // A box has all of K, and a step so many of its lines.
            Major::MN => (block * self.k as u64 + step * (STEP / self.elems[i].bytes()) as u64) * LINE,
        };
        bytes / UNIT
    }
}

impl<'c> Reader<'c> {
    /// Reads `op` if it belongs to such a multiplication of `nvgpu`; returns false if not.
    pub(super) fn warpgroup_tiles(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            nvgpu::WARPGROUP_GENERATE_DESCRIPTOR => self.matrix_descriptor(op)?,
            nvgpu::WARPGROUP_MMA_INIT_ACCUMULATOR => {
                let matrix = vector_matrix(op.result(0).ty()).filter(is_held);
                let ([rows, columns], _) = matrix.ok_or_else(|| Unknown::operation(op))?;
                let zeros = vec![0; rows / ROWS * columns / 2];
                self.set(op, op.result(0), Constant::Vector(zeros.into()));
            }
            nvgpu::WARPGROUP_MMA => self.warpgroup_mma(op)?,
            nvgpu::WARPGROUP_MMA_STORE => self.store_accumulator(op)?,
            gpux::READ_FRAGMENT | gpux::WRITE_FRAGMENT => {
                let (from, to) = (self.operand(op, 0), self.reg(op.result(0)));
                self.emit(op, Instruction::Warpgroup(Warpgroup::Copy { to, from }));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The memref holds boxes, one after the other, each with lines of 128 bytes.
    fn matrix_descriptor(&mut self, op: Op<'c>) -> Done<'c> {
        let map = tensor_map(op.operand(1).ty()).ok_or_else(|| Unknown::operation(op))?;
        let sizes = matrix(map.tile, types::memref_shape(map.tile).map(|shape| shape.element));
        let Some(([lines, _], _)) = sizes.filter(|_| map.swizzle == 128) else {
            let message = "the interpreter knows descriptors of boxes that are swizzled by 128 bytes only";
            return Err(Unknown::new(op, message));
        };
        let rest = Descriptor {
            start: 0,
            leading: lines as u64 * LINE,
            stride: Swizzle::B128.period(),
            base_offset: 0,
            swizzle: Swizzle::B128,
        };
        let (to, view) = (self.reg(op.result(0)), self.operand(op, 0));
        let rest = rest.encode();
        self.emit(op, Instruction::Warpgroup(Warpgroup::Describe { to, view, rest }));
        Ok(())
    }

    /// The matrix that a value is an accumulator of.
    fn accumulator(op: Op<'c>, value: Value<'c>) -> Result<Matrix, Unknown<'c>> {
        let found = vector_matrix(value.ty()).filter(fits);
        found.ok_or_else(|| Unknown::operation(op))
    }

    fn warpgroup_mma(&mut self, op: Op<'c>) -> Done<'c> {
        // Its B is KxN, whatever its `transposeB` says, which is what PTX calls the layout.
        let product = Product::of(op, [false, false])?;
        let Product { n, k, elems, .. } = product;
        let fits = k == K && n.is_multiple_of(K) && elems[0] == elems[1];
        let plain = op.has_attr(attr::TRANSPOSE_B) && !op.has_attr(attr::TRANSPOSE_A);
        if !fits || !plain || !matches!(elems[0], Elem::F16 | Elem::BF16) {
            let message = "upstream lowers this to descriptors of other matrices than the types say, but for A of Mx64 and B \
                           of 64xN numbers of 16 bits with transposeB";
            return Err(Unknown::new(op, message));
        }
        self.multiply_tiles(op, &product);
        let queue = self.wgmma_queue();
        self.meet_for(op, queue);
        self.emit(op, Instruction::Commit { queue, token: None });
        self.meet_for(op, queue);
        let n = op.int_attr(attr::WAIT_GROUP).unwrap_or(1);
        let n = u32::try_from(n).map_err(|_| Unknown::operation(op))?;
        self.emit(
            op,
            Instruction::Wait {
                queue,
                n,
                read: false,
            },
        );
        Ok(())
    }

    /// Reads a `gpux.wgmma`, whose `token` is complete when all of its instructions are.
    pub(super) fn wgmma(&mut self, op: Op<'c>, token: Option<Value<'c>>) -> Done<'c> {
        let tokens = op.num_operands() - 3;
        self.dependencies(op, 0..tokens);
        let transposed = [gpux_attr::TRANSPOSE_A, gpux_attr::TRANSPOSE_B].map(|name| op.has_attr(name));
        let product = Product::of(op, transposed)?;
        let product = Product {
            awaited: token.is_some(),
            ..product
        };
        let from = self.multiply_tiles(op, &product);
        if let Some(token) = token {
            let to = self.reg(token);
            self.emit(
                op,
                Instruction::Join {
                    to,
                    from: from.into(),
                },
            );
        }
        Ok(())
    }

    /// Multiplies all blocks of rows. Returns the tokens of the multiplications.
    fn multiply_tiles(&mut self, op: Op<'c>, product: &Product) -> Vec<Reg> {
        self.fence_accumulators(op);
        let last = op.num_operands() - 1;
        let (from, to) = (self.operand(op, last), self.reg(op.result(0)));
        let mut tokens = Vec::new();
        let parts =
            (0..product.rows / ROWS).map(|part| self.multiply_rows(op, part, product, from, &mut tokens));
        let parts: Vec<Reg> = parts.collect();
        let count = u32::try_from(product.n / 2).unwrap_or(0);
        let picks = (0..parts.len()).flat_map(|part| (0..count).map(move |i| (part, i)));
        let picks = picks
            .map(|(part, i)| (u32::try_from(part).unwrap_or(0), i))
            .collect();
        self.picked(op, to, parts.into(), picks);
        tokens
    }

    fn picked(&mut self, op: Op<'c>, to: Reg, from: Box<[Reg]>, picks: Box<[(u32, u32)]>) {
        let pick = VectorOp::Pick {
            to,
            from,
            picks,
            number: false,
        };
        self.emit(op, Instruction::Vector(pick));
    }

    /// Multiplies 64 rows of A with B, step by step along K. Returns the accumulator.
    fn multiply_rows(
        &mut self,
        op: Op<'c>,
        part: usize,
        product: &Product,
        from: Reg,
        tokens: &mut Vec<Reg>,
    ) -> Reg {
        let count = product.n / 2;
        let mut accumulator = self.fresh();
        let numbers = part * count..(part + 1) * count;
        let picks = numbers.map(|i| (0, u32::try_from(i).unwrap_or(0)));
        self.picked(op, accumulator, [from].into(), picks.collect());
        let first = op.num_operands() - 3;
        let fragment = self.operand(op, first);
        for step in 0..product.k * product.elems[0].bytes() / STEP {
            let mut factor = |i: usize, block: usize| Factor {
                descriptor: self.stepped(op, first + i, product.offset(i, block, step)),
                major: product.majors[i],
                elem: product.elems[i],
                unsigned: product.unsigned[i],
                negative: false,
            };
            let a = if product.in_registers {
                // A thread has a half of a row and a half of one of a step.
                Left::Registers(LeftFragment {
                    regs: [fragment].into(),
                    first: part * product.k / 2 + STEP / 2 / product.elems[0].bytes() * step,
                    held: product.elems[0],
                    elem: product.elems[0],
                    unsigned: product.unsigned[0],
                    negative: false,
                })
            } else {
                Left::Memory(factor(0, part))
            };
            let b = factor(1, 0);
            let wgmma = Wgmma {
                to: self.fresh(),
                accumulator,
                a,
                b,
                n: product.n,
                output: product.output,
                held: product.output,
                zero: false,
                saturates: false,
                queue: self.wgmma_queue(),
                token: product.awaited.then(|| self.fresh()),
            };
            tokens.extend(wgmma.token);
            accumulator = wgmma.to;
            self.emit_wgmma(op, wgmma);
        }
        accumulator
    }

    /// A descriptor of what lies further on.
    fn stepped(&mut self, op: Op<'c>, operand: usize, step: u64) -> Reg {
        let (descriptor, by, to) = (self.operand(op, operand), self.fresh(), self.fresh());
        let value = Constant::Bits(step);
        self.emit(op, Instruction::Set { to: by, value });
        self.scalar(op, Scalar::Add, Elem::INDEX, to, &[descriptor, by]);
        to
    }

    /// Returns true if `op` is in a function that multiplies by `gpux.wgmma`: `--gpux-to-nvvm` lowers its stores, if the block is
    /// known to have several warpgroups.
    fn is_beside_gpux(&mut self, op: Op<'c>) -> bool {
        let Some(function) = op.ancestors().find(|outer| outer.is_function()) else {
            return false;
        };
        let multiplies = || {
            function
                .self_and_nested()
                .into_iter()
                .any(|op| op.is(gpux::WGMMA))
        };
        *self.multiplying.entry(function).or_insert_with(multiplies)
    }

    fn store_accumulator(&mut self, op: Op<'c>) -> Done<'c> {
        let ([rows, columns], elem) = Self::accumulator(op, op.operand(0))?;
        let shape = types::memref_shape(op.operand(1).ty()).ok_or_else(|| Unknown::operation(op))?;
        if number(shape.element) != Some(elem) || shape.sizes.len() != 2 {
            return Err(Unknown::operation(op));
        }
        let in_warpgroup = self.code.block.is_some_and(|[x, ..]| x > WARPGROUP) && self.is_beside_gpux(op);
        if rows > ROWS && columns != 2 * ROWS && !in_warpgroup {
            let message = "upstream stores accumulators of more than 64 rows where they belong only if they have 128 columns";
            return Err(Unknown::new(op, message));
        }
        let (value, view) = (self.operand(op, 0), self.operand(op, 1));
        let store = Warpgroup::Store {
            value,
            view,
            columns,
            in_warpgroup,
        };
        self.emit(op, Instruction::Warpgroup(store));
        Ok(())
    }
}

/// Returns true if a warpgroup has such a matrix in registers.
fn is_held(([rows, columns], elem): &Matrix) -> bool {
    let bytes = rows.saturating_mul(*columns).saturating_mul(elem.bytes());
    rows % ROWS == 0 && columns % 8 == 0 && elem.bytes() <= 4 && bytes <= MOST_BYTES
}

/// Returns true if a warpgroup adds up such a matrix.
fn fits(([rows, columns], elem): &Matrix) -> bool {
    rows % ROWS == 0 && columns % 8 == 0 && matches!(elem, Elem::F32 | Elem::F16 | Elem::Int(32))
}

/// A matrix in the registers of a warpgroup.
fn vector_matrix(ty: Type<'_>) -> Option<Matrix> {
    let shape = types::vector_shape(accumulated_matrix(ty)?)?;
    let [Some(rows), Some(columns)] = shape.sizes[..] else {
        return None;
    };
    if types::is_tf32(shape.element) {
        // A thread has these as f32.
        return Some((
            [usize::try_from(rows).ok()?, usize::try_from(columns).ok()?],
            Elem::F32,
        ));
    }
    matrix_of(&shape.sizes, Some(shape.element))
}

/// A memref of two known sizes.
fn matrix(ty: Type<'_>, element: Option<Type<'_>>) -> Option<Matrix> {
    matrix_of(&types::memref_shape(ty)?.sizes, element)
}

fn matrix_of(sizes: &[Option<i64>], element: Option<Type<'_>>) -> Option<Matrix> {
    let [Some(rows), Some(columns)] = *sizes else {
        return None;
    };
    let sizes = [usize::try_from(rows).ok()?, usize::try_from(columns).ok()?];
    Some((sizes, number(element?)?))
}
