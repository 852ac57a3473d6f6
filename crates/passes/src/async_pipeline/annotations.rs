//! Reads and checks the attributes that say how a loop is to be pipelined.

use async_dialects::names::gpux_attr;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op};
use async_mlir::names::scf;
use async_mlir::pass::PassError;
use async_mlir::types::array_numbers;
use rustc_hash::{FxHashMap, FxHashSet};

/// When an operation is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StageOrder {
    pub stage: u32,
    pub order: u32,
}

/// The most stages that a loop can have: the prologue and the epilogue grow with them.
pub(super) const MAX_STAGES: u32 = 64;

/// When operations of a loop's body are executed; others are recomputed wherever they are needed.
pub(super) type Schedule<'c> = FxHashMap<Op<'c>, StageOrder>;

/// What is to be done with a loop.
pub(super) enum Request {
    /// Its operations say when they are executed. The transfers of these stages are asynchronous.
    Annotated(FxHashSet<u32>),
    /// It says how many stages it is to have.
    Automatic(u32),
}

/// Checks that what `function` says of loops is said where it is read; what is said of loops of other kinds gets a remark.
pub(super) fn check_places<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    for op in function.self_and_nested() {
        let has = |names: [&'static str; 2]| names.into_iter().find(|name| op.has_attr(name));
        if let Some(name) = has([gpux_attr::STAGE, gpux_attr::ORDER])
            && !op.parent().is_some_and(|outer| outer.is(scf::FOR))
        {
            let message = format!("has '{name}', but is not directly in the body of an 'scf.for'");
            return Err(PassError::new(op, message)
                .note(op, "give it to the operation of the body that this one is in"));
        }
        if let Some(name) = has([gpux_attr::NUM_STAGES, gpux_attr::ASYNC_STAGES])
            && !op.is(scf::FOR)
        {
            let message = format!(
                "is not pipelined: it has '{name}', but only an 'scf.for' can be; --lower-affine makes one of an 'affine.for'"
            );
            Diagnostic::remark(op, message).emit();
        }
    }
    Ok(())
}

/// Reads the attributes of `around`, an `scf.for`, and of its body; `None` if there are none.
pub(super) fn read<'c>(around: Op<'c>, body: Block<'c>) -> Result<Option<Request>, PassError<'c>> {
    let num_stages = number(around, gpux_attr::NUM_STAGES);
    let ops = body.ops();
    let annotated = ops
        .iter()
        .copied()
        .find(|op| op.has_attr(gpux_attr::STAGE) || op.has_attr(gpux_attr::ORDER));
    let asynchronous = around.attr(gpux_attr::ASYNC_STAGES);
    match (num_stages, annotated) {
        (Some(_), Some(op)) => {
            let message = "has 'async.num_stages', but an operation of its body has a stage of its own";
            Err(PassError::new(around, message).note(op, "remove the one or the other"))
        }
        (Some(_), None) if asynchronous.is_some() => {
            let message =
                "has 'async.num_stages' and 'async.async_stages', which is for operations with 'async.stage'";
            Err(PassError::new(around, message))
        }
        (Some(stages), None) if stages > MAX_STAGES => {
            let message = format!("has {stages} stages, but at most {MAX_STAGES} are possible");
            Err(PassError::new(around, message))
        }
        (Some(stages), None) => Ok(Some(Request::Automatic(stages))),
        (None, None) if asynchronous.is_some() => {
            let message = "has 'async.async_stages', but no operation of its body has a stage";
            let help = "give each of them 'async.stage' and 'async.order', or the loop 'async.num_stages'";
            Err(PassError::new(around, message).note(around, help))
        }
        (None, None) if around.has_attr(gpux_attr::ACROSS_ROUNDS) => {
            let message = "has 'async.across_rounds', but nothing says how it is to be pipelined";
            let help = "give the loop 'async.num_stages', or its operations stages";
            Err(PassError::new(around, message).note(around, help))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let schedule = read_schedule(body)?;
            let mut stages = FxHashSet::default();
            for stage in asynchronous.and_then(array_numbers).unwrap_or_default() {
                let stage = u32::try_from(stage).unwrap_or(u32::MAX);
                if schedule.values().all(|stage_order| stage_order.stage != stage) {
                    let message = format!(
                        "has stage {stage} in 'async.async_stages', but no operation of its body has that stage"
                    );
                    return Err(PassError::new(around, message));
                }
                stages.insert(stage);
            }
            Ok(Some(Request::Annotated(stages)))
        }
    }
}

/// Returns true if `around`, an `scf.for`, is to be pipelined, or says so in a wrong way.
pub(super) fn is_annotated(around: Op<'_>) -> bool {
    let names = [
        gpux_attr::NUM_STAGES,
        gpux_attr::ASYNC_STAGES,
        gpux_attr::ACROSS_ROUNDS,
    ];
    names.iter().any(|name| around.has_attr(name)) || is_scheduled(around)
}

/// Returns true if operations of the body of `around` say when they are executed.
pub(super) fn is_scheduled(around: Op<'_>) -> bool {
    let mut body = around.region(0).first().into_iter().flat_map(Block::ops);
    body.any(|op| op.has_attr(gpux_attr::STAGE) || op.has_attr(gpux_attr::ORDER))
}

/// Removes what [`read`] has read.
pub(super) fn remove<'c>(around: Op<'c>, body: Block<'c>) {
    around.remove_attr(gpux_attr::NUM_STAGES);
    around.remove_attr(gpux_attr::ASYNC_STAGES);
    around.remove_attr(gpux_attr::ACROSS_ROUNDS);
    for op in body.ops() {
        op.remove_attr(gpux_attr::STAGE);
        op.remove_attr(gpux_attr::ORDER);
    }
}

fn number(op: Op<'_>, name: &str) -> Option<u32> {
    u32::try_from(op.int_attr(name)?).ok()
}

/// When the operations of `body` say that they are executed.
pub(super) fn read_schedule(body: Block<'_>) -> Result<Schedule<'_>, PassError<'_>> {
    let mut schedule = Schedule::default();
    // The first operation of each order.
    let mut orders: FxHashMap<u32, Op<'_>> = FxHashMap::default();
    for op in body.ops() {
        let (stage, order) = (number(op, gpux_attr::STAGE), number(op, gpux_attr::ORDER));
        let stage_order = match (stage, order) {
            (Some(stage), Some(order)) => StageOrder { stage, order },
            (Some(_), None) => return Err(PassError::new(op, "has 'async.stage', but no 'async.order'")),
            (None, Some(_)) => return Err(PassError::new(op, "has 'async.order', but no 'async.stage'")),
            (None, None) if op.has_attr(gpux_attr::STAGE) || op.has_attr(gpux_attr::ORDER) => {
                let message =
                    "has stages and orders for the parts of a pipelined loop, but is not pipelined itself";
                let help = "give it one stage and one order, or its body stages, too";
                return Err(PassError::new(op, message).note(op, help));
            }
            (None, None) => continue,
        };
        if stage_order.stage >= MAX_STAGES {
            let message = format!(
                "has stage {}, but the last one possible is {}",
                stage_order.stage,
                MAX_STAGES - 1
            );
            return Err(PassError::new(op, message));
        }
        schedule.insert(op, stage_order);
        let first = *orders.entry(stage_order.order).or_insert(op);
        if let Some(other) = schedule
            .get(&first)
            .filter(|other| other.stage != stage_order.stage)
        {
            let message = format!(
                "has order {}, which an operation of stage {} has, too",
                stage_order.order, other.stage
            );
            return Err(PassError::new(op, message).note(first, "this one; orders are unique"));
        }
    }
    Ok(schedule)
}

/// Has `to` executed when `from` is.
pub(super) fn copy_stage_order<'c>(from: Op<'c>, to: Op<'c>) {
    for name in [gpux_attr::STAGE, gpux_attr::ORDER] {
        if let Some(value) = from.attr(name) {
            to.set_attr(name, value);
        }
    }
}
