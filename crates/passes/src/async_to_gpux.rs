//! `--async-to-gpux`: synchronous transfers made asynchronous.
//!
//! **Condition.** None.
//!
//! **Effect.** A transfer is what moves numbers from global memory to memory of the workgroup and leaves them
//! as they are: a load and a store in one block, or a copy of memrefs; or an `scf.if` whose other arm stores
//! zeros. It becomes
//!
//! - `gpux.copy async` of the thread that executes it, in copies of 16, 8 or 4 bytes, or
//! - with `engine=tma`, if all threads of the block execute it together, one `gpux.bulk_load async`,
//!
//! where its store stood. The tokens are awaited before anything in the block that could tell the difference:
//! the program means what it meant. An `async.region` of nothing but transfers becomes a join of their
//! tokens, which nobody awaits but who awaited the region.
//!
//! **Refusals.** What no engine can do stays as it is, with a remark: addresses that are not known to be
//! aligned, conversions, fills with something else than zeros, stores of some elements only, reads that a
//! write or a barrier keeps from being moved to the store. Nothing is taken for granted but the alignment of
//! buffers that callers hand over (`base-alignment`).
//!
//! [`Recognizer::recognize`] says what is a transfer, and [`Transfer::emit`] makes the asynchronous form
//! without an await; the pass adds the awaits (`sinking`). `sides` reads loads and stores, `use_def_chain`
//! what lies between them, `copies` and `bulk` know the engines.

mod bulk;
mod copies;
mod effects;
mod read_motion;
mod reason;
mod recognize;
mod sides;
mod sinking;
mod speculation;
mod transfer_nests;
mod transfer_regions;
mod use_def_chain;

pub use reason::Reason;
pub use recognize::{Recognizer, Transfer};

use self::effects::Summaries;
use self::sinking::{Pending, sink};
use self::transfer_nests::{TransferNest, is_nest};
use self::transfer_regions::TransferRegion;
use crate::utils::chip::{FIRST_SM, sm_in, sm_of};
use crate::utils::tokens::await_before;
use async_dialects::names::async_;
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Mapping, Op, Walk};
use async_mlir::melior::ir::Location;
use async_mlir::pass::{
    Anchor, Dialect, OptionInfo, Options as PassOptions, Pass, PassContext, PassError, PassInfo,
    StatisticInfo,
};
use rustc_hash::FxHashMap;

/// The pass.
pub struct AsyncToGpux;

/// What does transfers that all threads of a block execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `cp.async`: each thread its own.
    CpAsync,
    /// Bulk copies, of one thread for all.
    Tma,
}

/// How transfers are recognized and made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What does transfers that all threads of a block execute.
    pub engine: Engine,
    /// Whether copies of 16 bytes bypass the L1 cache.
    pub bypass_l1: bool,
    /// What buffers that callers hand over are aligned to, in bytes.
    pub base_alignment: i64,
    /// Whether different arguments of a function are taken to be different buffers. Else they may be the same one, unless one of them
    /// is `llvm.noalias`.
    pub distinct_arguments: bool,
}

/// The oldest GPU that has bulk copies.
const FIRST_TMA_SM: u32 = 90;

/// The values of the option `engine`.
pub(crate) const ENGINES: &[(&str, &str)] = &[("cp_async", ""), (TMA, "needs sm_90")];

const ENGINE: &str = "engine";
const AWAITS: &str = "awaits";
const IMMEDIATE: &str = "immediate";
const TMA: &str = "tma";

impl Pass for AsyncToGpux {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_to_gpux/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::string("chip", "sm_80", "the GPU; before sm_80, nothing is asynchronous"),
            OptionInfo::choice(
                ENGINE,
                "cp_async",
                ENGINES,
                "what does transfers that all threads of a block execute",
            ),
            OptionInfo::choice(
                AWAITS,
                "sink",
                &[("sink", "as late as the block allows"), (IMMEDIATE, "")],
                "where tokens are awaited",
            ),
            OptionInfo::bool("bypass-l1", true, "copies of 16 bytes bypass the L1 cache"),
            OptionInfo::int(
                "base-alignment",
                16,
                "what buffers that callers hand over are aligned to, in bytes",
            ),
        ],
        dependent_dialects: &[GPUX, Dialect::ARITH, Dialect::MEMREF],
        statistics: &[
            StatisticInfo {
                name: "asynchronous",
                description: "Number of transfers made asynchronous",
            },
            StatisticInfo {
                name: "synchronous",
                description: "Number of transfers that stay synchronous",
            },
        ],
        ..PassInfo::new(
            "async-to-gpux",
            "turns transfers to workgroup memory into asynchronous copies",
        )
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let options = read_options(function.location(), cx)?;
        let found = Found::read(function, options);
        if let Some(old) = sm_in(cx.str("chip")).filter(|sm| *sm < FIRST_SM) {
            let number = found.transfers.len() + found.regions.len();
            if number > 0 {
                let message = format!(
                    "stays synchronous: sm_{old} has no asynchronous copies, which begin with sm_{FIRST_SM}"
                );
                Diagnostic::remark(function, message).emit();
            }
            return Ok(());
        }
        for (op, reason) in &found.refused {
            reason.remark(*op).emit();
        }
        let in_regions: usize = found.regions.iter().map(TransferRegion::len).sum();
        cx.count("asynchronous", (found.transfers.len() + in_regions) as u64);
        cx.count("synchronous", found.refused.len() as u64);
        found.regions.into_iter().for_each(TransferRegion::emit);
        let issued = issue(&found.transfers, cx.str(AWAITS) == IMMEDIATE);
        let mut summaries = Summaries::default();
        for (block, pending) in issued {
            sink(block, pending, &mut summaries);
        }
        Ok(())
    }
}

/// Makes the transfers of `block` itself and of loops and branches in it that do nothing else asynchronous, each awaited as late as
/// the block allows; says of those that can't be why.
pub(crate) fn start_transfers<'c>(function: Op<'c>, block: Block<'c>, options: Options) {
    let transfers = transfers_of(function, block, options, &|_| true);
    let nests = nests_of(function, block, options, &|_| true);
    let issued = issue(&transfers, false).into_iter();
    let mut pending: Vec<Pending> = issued.flat_map(|(_, pending)| pending).collect();
    pending.extend(nests.iter().flat_map(TransferNest::start_pending));
    sink(block, pending, &mut Summaries::default());
}

/// The loops and branches of `block` that do nothing but transfer, among those that `wanted` is true of; says of others with transfers
/// why not.
pub(crate) fn nests_of<'c>(
    function: Op<'c>,
    block: Block<'c>,
    options: Options,
    wanted: &dyn Fn(Op<'c>) -> bool,
) -> Vec<TransferNest<'c>> {
    let mut recognizer = Recognizer::new(function, options);
    let mut found = Vec::new();
    let ops = block.ops().into_iter();
    for op in ops.filter(|op| is_nest(*op) && wanted(*op)) {
        // A transfer itself, as `transfers_of` says.
        if recognizer.branch(op).is_some() {
            continue;
        }
        match transfer_nests::read(&mut recognizer, op) {
            Some(Ok(transfers)) => found.push(transfers),
            Some(Err((at, reason))) => reason.remark(at).emit(),
            None => {}
        }
    }
    found
}

/// The transfers among those operations of `block` that `wanted` is true of; says of those that can't be asynchronous why.
pub(crate) fn transfers_of<'c>(
    function: Op<'c>,
    block: Block<'c>,
    options: Options,
    wanted: &dyn Fn(Op<'c>) -> bool,
) -> Vec<Transfer<'c>> {
    let mut recognizer = Recognizer::new(function, options);
    let mut transfers = Vec::new();
    for op in block.ops().into_iter().filter(|op| wanted(*op)) {
        match recognizer.branch(op) {
            Some(Ok(all)) => transfers.extend(all),
            Some(Err((at, reason))) => reason.remark(at).emit(),
            None => {}
        }
        match recognizer.recognize(op) {
            Some(Ok(transfer)) => transfers.push(transfer),
            Some(Err(reason)) => reason.remark(op).emit(),
            None => {}
        }
    }
    transfers
}

/// The options of a pass that has those of this one.
pub(crate) fn read_options<'c>(at: Location<'c>, cx: &impl PassOptions) -> Result<Options, PassError<'c>> {
    let fault = |message: String| PassError::new(at, message);
    let chip = cx.str("chip");
    let is_old = sm_in(chip).is_some_and(|sm| sm < FIRST_SM);
    let sm = if is_old { 0 } else { sm_of(chip).map_err(fault)? };
    let engine = if cx.str(ENGINE) == TMA {
        Engine::Tma
    } else {
        Engine::CpAsync
    };
    if engine == Engine::Tma && sm < FIRST_TMA_SM {
        return Err(fault(format!(
            "engine=tma needs sm_{FIRST_TMA_SM} or newer, but the chip is {chip}"
        )));
    }
    let base_alignment = cx.int("base-alignment");
    if !u64::try_from(base_alignment).is_ok_and(u64::is_power_of_two) {
        return Err(fault(format!(
            "base-alignment is {base_alignment}, but must be a power of two"
        )));
    }
    Ok(Options {
        engine,
        bypass_l1: cx.bool("bypass-l1"),
        base_alignment,
        distinct_arguments: false,
    })
}

/// The transfers of a function, in program order.
#[derive(Default)]
struct Found<'c> {
    transfers: Vec<Transfer<'c>>,
    regions: Vec<TransferRegion<'c>>,
    refused: Vec<(Op<'c>, Reason<'c>)>,
}

impl<'c> Found<'c> {
    fn read(function: Op<'c>, options: Options) -> Self {
        let mut recognizer = Recognizer::new(function, options);
        let mut found = Self::default();
        function.walk(|op| {
            if op != function && op.is_function() {
                return Walk::Skip;
            }
            if op.is(async_::REGION) {
                match transfer_regions::read(&mut recognizer, op) {
                    Some(Ok(region)) => found.regions.push(region),
                    Some(Err(refused)) => found.refused.push(refused),
                    None => return Walk::Advance,
                }
                return Walk::Skip;
            }
            // If it can't be one, what is in it may be transfers.
            if let Some(Ok(transfers)) = recognizer.branch(op) {
                found.transfers.extend(transfers);
                return Walk::Skip;
            }
            match recognizer.recognize(op) {
                Some(Ok(transfer)) => found.transfers.push(transfer),
                Some(Err(reason)) => found.refused.push((op, reason)),
                None => {}
            }
            Walk::Advance
        });
        found
    }
}

/// Puts the asynchronous forms in place, and returns what is to be awaited in which block.
fn issue<'c>(transfers: &[Transfer<'c>], immediate: bool) -> Vec<(Block<'c>, Vec<Pending<'c>>)> {
    let mut issued: Vec<(Block, Vec<Pending>)> = Vec::new();
    let mut of_block: FxHashMap<Block, usize> = FxHashMap::default();
    for transfer in transfers {
        let last = transfer.last();
        let block = last.block().expect("an operation of a function is in a block");
        let tokens = transfer.emit(last, &Mapping::new(), &[]);
        if immediate {
            await_before(last, &tokens);
        } else {
            let index = *of_block.entry(block).or_insert_with(|| {
                issued.push((block, Vec::new()));
                issued.len() - 1
            });
            issued[index].1.push(Pending::of(transfer, tokens));
        }
        transfer.erase();
    }
    issued
}
