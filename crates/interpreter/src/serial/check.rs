//! Whether what was read is code that the machine can run: nothing refers to what is not there.
//!
//! The machine takes for granted what a reader of IR makes: registers, jumps, loops and queues that there are, an end that is not run
//! past, and numbers in the bounds that MLIR's verifiers set. That is checked here. What registers hold the machine checks itself.

use super::walk::{Seen, walk};
use super::{Registers, SerialError, damaged};
use crate::code::{
    BufferDecl, Code, Fragment, Id, Init, Instr, Matrix, Op, ParamKind, Reg, Tile, VectorOp, Warpgroup,
};
use crate::scalar::Scalar;
use crate::value::View;

/// The most bytes that declared buffers have, and the most that is asked of an alignment.
const MAX_BYTES: usize = 1 << 30;
const MAX_ALIGN: u32 = 1 << 16;
/// The most numbers of a vector, and dimensions of a memref.
const MAX_COUNT: usize = 1 << 20;
const MAX_RANK: usize = 1 << 10;

/// Checks a kernel, but for how many registers it has, which is returned.
pub(super) fn code(code: &Code) -> Result<u32, SerialError> {
    let mut registers = Registers::default();
    for param in &code.params {
        registers.note(param.to);
        refer(code, param, &mut registers)?;
        kind(&param.kind)?;
    }
    for decl in code.workgroup.iter().chain(&code.global) {
        refer(code, &decl.to, &mut registers)?;
        refer(code, &decl.view, &mut registers)?;
        buffer(decl)?;
    }
    let total = code.workgroup.iter().chain(&code.global);
    let total = total.fold(0_usize, |sum, decl| sum.saturating_add(bytes(decl)));
    ensure(total <= MAX_BYTES, "its buffers are too large")?;
    for instr in &code.instrs {
        refer(code, &instr.op, &mut registers)?;
        instruction(code, instr)?;
    }
    let last = code.instrs.last().map(|instr| &instr.op);
    let ends = matches!(
        last,
        Some(Op::Return | Op::Jump(_) | Op::Branch { .. } | Op::Switch { .. })
    );
    ensure(ends, "it has no end")?;
    // Numbers of registers are given one after the other.
    let most = registers.named.saturating_mul(16).saturating_add(1024);
    ensure(registers.count <= most, "it has more registers than it uses")?;
    Ok(registers.count)
}

fn ensure(is_right: bool, otherwise: &str) -> Result<(), SerialError> {
    if is_right { Ok(()) } else { Err(damaged(otherwise)) }
}

/// Checks what is referred to by number.
fn refer<T: serde::Serialize>(code: &Code, what: &T, registers: &mut Registers) -> Result<(), SerialError> {
    let refused = walk(what, |seen| match seen {
        Seen::Reg(reg) => {
            registers.note(Reg(reg));
            Ok(())
        }
        Seen::Label(label) if (label as usize) < code.instrs.len() => Ok(()),
        Seen::Queue(queue) if (queue as usize) < code.queues.len() => Ok(()),
        Seen::Width(1..=64) => Ok(()),
        Seen::Label(_) => Err("it jumps to where nothing is".into()),
        Seen::Queue(_) => Err("it names a queue that there isn't".into()),
        Seen::Copy => Err("it has the token of a copy".into()),
        Seen::Width(width) => Err(format!("it has integers of {width} bits")),
    });
    refused.map_err(|refused| damaged(refused.0))
}

fn kind(kind: &ParamKind) -> Result<(), SerialError> {
    match kind {
        ParamKind::Number(_) | ParamKind::Unused => Ok(()),
        ParamKind::MemRef {
            sizes,
            strides,
            lanes,
            ..
        } => {
            let is_right = sizes.len() <= MAX_RANK
                && strides
                    .as_ref()
                    .is_none_or(|strides| strides.len() == sizes.len())
                && sizes.iter().flatten().all(|size| *size >= 0)
                && (1..=MAX_COUNT).contains(&(*lanes as usize));
            ensure(is_right, "a parameter has no such sizes and strides")
        }
        ParamKind::Tensor(tile) => {
            let is_right = tile.sizes.iter().all(|size| (0..=256).contains(size));
            ensure(is_right, "a tensor has no such box")
        }
    }
}

/// The bytes of a buffer, but for dynamic memory.
fn bytes(decl: &BufferDecl) -> usize {
    match &decl.init {
        Init::Unwritten(bytes) => *bytes,
        Init::Bytes(bytes) => bytes.len(),
        Init::Dynamic => 0,
    }
}

fn buffer(decl: &BufferDecl) -> Result<(), SerialError> {
    let View {
        sizes,
        strides,
        lanes,
        ..
    } = &decl.view;
    let is_right = sizes.len() == strides.len()
        && sizes.len() <= MAX_RANK
        && (1..=MAX_COUNT).contains(&(*lanes as usize))
        && decl.align.is_power_of_two()
        && decl.align <= MAX_ALIGN;
    ensure(is_right, "a buffer has no such sizes and strides")?;
    let is_dynamic = matches!(decl.init, Init::Dynamic);
    let fits = is_dynamic || decl.view.span_bytes().is_some_and(|span| span <= bytes(decl));
    ensure(fits, "a buffer has fewer bytes than elements")
}

fn instruction(code: &Code, instr: &Instr) -> Result<(), SerialError> {
    let has_loops = instr.loops.iter().all(|of| (*of as usize) < code.loops.len());
    ensure(has_loops, "an instruction is in a loop that there isn't")?;
    let is_right = match &instr.op {
        Op::Id {
            id: Id::Lanes, dim, ..
        } => *dim < 5,
        Op::Id { dim, .. } => *dim < 3,
        Op::Count { depth, .. } => *depth as usize <= instr.loops.len(),
        Op::Scalar {
            f: Scalar::Select,
            args,
            ..
        } => args.len() == 3,
        Op::Scalar { args, .. } => (1..=3).contains(&args.len()),
        Op::Load { count, .. } => *count as usize <= MAX_COUNT,
        Op::LoadTile { tile, .. } | Op::StoreTile { tile, .. } => is_tile(tile),
        Op::Check { align, .. } => align.is_power_of_two(),
        Op::Alloc {
            sizes,
            dynamic,
            lanes,
            ..
        } => {
            sizes.len() <= MAX_RANK
                && sizes.iter().filter(|size| size.is_none()).count() == dynamic.len()
                && (1..=MAX_COUNT).contains(&(*lanes as usize))
        }
        Op::SubView {
            offsets,
            sizes,
            strides,
            ..
        } => offsets.len() == sizes.len() && sizes.len() == strides.len() && sizes.len() <= MAX_RANK,
        Op::Reinterpret { sizes, strides, .. } => sizes.len() == strides.len() && sizes.len() <= MAX_RANK,
        Op::Window { sizes, lanes, .. } => {
            sizes.len() <= MAX_RANK && (1..=MAX_COUNT).contains(&(*lanes as usize))
        }
        Op::Permute { dims, .. } => dims.len() <= MAX_RANK,
        Op::Collapse { groups, .. } => sum(groups.iter().copied()) <= MAX_RANK,
        Op::Expand { groups, sizes, .. } => {
            sum(groups.iter().copied()) == sizes.len() && sizes.len() <= MAX_RANK
        }
        Op::Copy(copy) => copy.align.is_power_of_two() && copy.align <= MAX_ALIGN && copy.unit <= 1 << 10,
        Op::WarpReduce(reduce) => {
            let [size, stride] = [reduce.cluster.size, reduce.cluster.stride];
            (1..=32).contains(&size) && (1..=32).contains(&stride)
        }
        Op::LdMatrix(load) => matches!(load.tiles, 1 | 2 | 4),
        Op::StMatrix(store) => matches!(store.values.len(), 1 | 2 | 4),
        Op::Mma(mma) => mma.shape.iter().all(|size| (1..=512).contains(size)),
        Op::Fragment(fragment) => match &**fragment {
            Fragment::Load { matrix, .. } | Fragment::Store { matrix, .. } => is_matrix(matrix),
            Fragment::Multiply {
                matrices: [a, b, c], ..
            } => {
                let shapes = a.columns == b.rows && (a.rows, b.columns) == (c.rows, c.columns);
                shapes && [a, b, c].into_iter().all(is_matrix)
            }
        },
        Op::Warpgroup(Warpgroup::Multiply(wgmma)) => {
            wgmma.n <= 256 && wgmma.n.is_multiple_of(8) && wgmma.n > 0
        }
        Op::Warpgroup(Warpgroup::Store { columns, .. }) => *columns <= MAX_COUNT,
        Op::Vector(op) => is_vector(op),
        _ => true,
    };
    ensure(is_right, "an instruction has numbers that it can't have")
}

fn sum(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(0, usize::saturating_add)
}

/// How many there are in all.
fn product(sizes: &[i64]) -> usize {
    let sizes = sizes
        .iter()
        .map(|size| usize::try_from(*size).unwrap_or(usize::MAX));
    sizes.fold(1, usize::saturating_mul)
}

fn is_tile(tile: &Tile) -> bool {
    let rank = tile.sizes.len();
    rank == tile.dims.len()
        && rank == tile.in_bounds.len()
        && product(&tile.sizes) <= MAX_COUNT
        && tile.dims.iter().flatten().all(|dim| *dim < MAX_RANK)
        && tile
            .mask
            .as_ref()
            .is_none_or(|mask| mask.of.len() == product(&tile.sizes))
        && tile.offsets.is_none_or(|(_, bits)| (1..=64).contains(&bits))
}

fn is_matrix(matrix: &Matrix) -> bool {
    (1..=256).contains(&matrix.rows) && (1..=256).contains(&matrix.columns)
}

fn is_vector(op: &VectorOp) -> bool {
    match op {
        VectorOp::InsertPart { count, .. } | VectorOp::Insert { count, .. } => *count as usize <= MAX_COUNT,
        VectorOp::Mask { sizes, bounds, .. } => sizes.len() == bounds.len() && product(sizes) <= MAX_COUNT,
        VectorOp::Pick { from, picks, .. } => {
            picks.len() <= MAX_COUNT && picks.iter().all(|(source, _)| (*source as usize) < from.len())
        }
        VectorOp::Contract(contraction) => (1..=2).contains(&contraction.factors.len()),
        _ => true,
    }
}
