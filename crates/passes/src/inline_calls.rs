//! `--gpux-inline-calls`: inlines calls that can't be lowered, such as those that take or return tokens.
//!
//! **Condition.** Device code in `gpu.module`s.
//!
//! **Effect.** No call is left of a function that takes or returns tokens, or accumulators or descriptors of a warpgroup's matrices, that
//! is an `async.func`, or that allocates memory of the workgroup: tokens are counted in one function, accumulators stay in their
//! registers, and each call has workgroup memory of its own. What those
//! functions call in turn is inlined first, so a function that would have such a call goes too. Other calls stay. A
//! function that was inlined and is not called any more is erased, if it is private or could not be lowered by itself;
//! so is a private one of this kind that nothing calls.
//!
//! **Refusals.** Recursion, functions without a body, `no_inline`, and a body of several blocks where only one may be.

use crate::utils::device::is_workgroup_alloc;
use crate::utils::tokens::{has_tokens, takes_or_returns};
use async_dialects::names::async_;
use async_dialects::registry::{GPUX, has_upstream_async};
use async_dialects::types::is_token;
use async_mlir::calls::{NotInlined, UsedSymbols, callee_name, inline, is_call, is_private_symbol};
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, Region};
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, builtin, gpu};
use async_mlir::nvgpu::{accumulated_matrix, described_matrix};
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub struct InlineCalls;

impl Pass for InlineCalls {
    const INFO: PassInfo = PassInfo {
        description: include_str!("inline_calls/description.md"),
        // Not on functions: it looks into those that they call.
        anchor: Anchor::Ops(&[builtin::MODULE, gpu::MODULE]),
        dependent_dialects: &[GPUX, Dialect::CF],
        statistics: &[StatisticInfo {
            name: "calls",
            description: "Number of calls inlined",
        }],
        ..PassInfo::new(
            "gpux-inline-calls",
            "inlines calls of device functions that have tokens or allocate workgroup memory",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        // All of them first: what they hold changes.
        let modules: Vec<Op> = root
            .self_and_nested()
            .into_iter()
            .filter(|op| op.is(gpu::MODULE))
            .collect();
        for module in modules {
            let mut functions = functions(module);
            let named = functions
                .iter()
                .filter_map(|&op| Some((op.str_attr(attr::SYM_NAME)?, op)));
            let mut inliner = Inliner {
                functions: named.collect(),
                states: FxHashMap::default(),
                inlined: 0,
            };
            inliner.erase_dead(module, &mut functions);
            for &function in &functions {
                inliner.visit(function)?;
            }
            cx.count("calls", inliner.inlined);
            inliner.erase_unused(module, functions);
        }
        Ok(())
    }
}

/// The functions directly in `module`.
fn functions(module: Op<'_>) -> Vec<Op<'_>> {
    let ops = module.regions().flat_map(Region::blocks).flat_map(Block::ops);
    ops.filter(|op| op.is_function()).collect()
}

/// How far a function is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// What it calls is being looked at.
    Open,
    /// No call that has to go is left in it.
    Done {
        /// True if it stands in the place of calls.
        inlined: bool,
        /// True if its calls have to go.
        must: bool,
    },
}

struct Inliner<'c> {
    /// Those of the module, by name.
    functions: FxHashMap<&'c str, Op<'c>>,
    states: FxHashMap<Op<'c>, State>,
    inlined: u64,
}

impl<'c> Inliner<'c> {
    /// Inlines what `function` calls and what those call, callees first.
    fn visit(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        if self.states.contains_key(&function) {
            return Ok(());
        }
        // Functions that are being looked at, with the calls in them that are left.
        let mut open = vec![(function, self.open(function))];
        while let Some((function, calls)) = open.last_mut() {
            let Some(&call) = calls.last() else {
                let done = State::Done {
                    inlined: false,
                    must: why(*function).is_some(),
                };
                self.states.insert(*function, done);
                open.pop();
                continue;
            };
            let callee = callee_name(call).and_then(|name| self.functions.get(name).copied());
            let state = callee.and_then(|callee| self.states.get(&callee).copied());
            if let (Some(callee), None) = (callee, state) {
                let calls = self.open(callee);
                open.push((callee, calls));
                continue;
            }
            calls.pop();
            match (callee, state) {
                (Some(callee), Some(State::Open)) => check_recursive(call, callee)?,
                (Some(callee), Some(State::Done { must: true, .. })) => self.inline(call, callee)?,
                (None, _) => check_unknown(call)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Begins with `function`: returns the calls in it, the last one first.
    fn open(&mut self, function: Op<'c>) -> Vec<Op<'c>> {
        self.states.insert(function, State::Open);
        let mut calls: Vec<Op> = function
            .self_and_nested()
            .into_iter()
            .filter(|op| is_call(*op))
            .collect();
        calls.reverse();
        calls
    }

    fn inline(&mut self, call: Op<'c>, callee: Op<'c>) -> Result<(), PassError<'c>> {
        let around = call.parent().map_or("", Op::name);
        let (why_not, help) = match inline(call, callee) {
            Ok(()) => {
                self.inlined += 1;
                let state = State::Done {
                    inlined: true,
                    must: true,
                };
                self.states.insert(callee, state);
                return Ok(());
            }
            Err(_) if !has_body(callee) => {
                ("its body is not here".to_owned(), "define it in this gpu.module")
            }
            Err(NotInlined::SeveralBlocks) => (
                format!("its body has several blocks, and '{around}' can hold only one"),
                "run --lift-cf-to-scf first",
            ),
            Err(NotInlined::NotLegal) if callee.is(async_::FUNC) && has_upstream_async(callee) => (
                "upstream's dialect 'async' does not let its functions be inlined".to_owned(),
                "make it a func.func that takes or returns tokens, or write its body where it is called",
            ),
            Err(NotInlined::NotLegal) => (
                "it is marked no_inline, or does not return".to_owned(),
                "write its body where it is called",
            ),
        };
        Err(fault(call, callee, &why_not, help))
    }

    /// Erases the private functions whose calls would have to go and that nothing but such functions refers to: what is
    /// wrong with them does not matter.
    fn erase_dead(&mut self, module: Op<'c>, functions: &mut Vec<Op<'c>>) {
        let may_go = |function: &Op<'c>| is_private_symbol(*function) && why(*function).is_some();
        let mut dead: FxHashSet<Op> = functions.iter().copied().filter(may_go).collect();
        let ops = module.regions().flat_map(Region::blocks).flat_map(Block::ops);
        let mut live: Vec<Op> = ops.filter(|op| !dead.contains(op)).collect();
        while !dead.is_empty() && !live.is_empty() {
            let used = UsedSymbols::of_all(live);
            live = dead
                .iter()
                .copied()
                .filter(|function| used.has(*function))
                .collect();
            for function in &live {
                dead.remove(function);
            }
        }
        functions.retain(|function| !dead.contains(function));
        self.functions.retain(|_, function| !dead.contains(function));
        for function in dead {
            function.erase();
        }
    }

    /// Erases those of `functions`, of `module`, that nothing needs any more.
    fn erase_unused(&self, module: Op<'c>, mut functions: Vec<Op<'c>>) {
        functions.retain(|&function| match self.states.get(&function) {
            Some(State::Done { inlined, must: true }) => *inlined || is_private_symbol(function),
            _ => false,
        });
        // Each round erases what only the last one has called.
        loop {
            let before = functions.len();
            if before == 0 {
                return;
            }
            let used = UsedSymbols::of(module);
            functions.retain(|&function| {
                let stays = used.has(function);
                if !stays {
                    function.erase();
                }
                stays
            });
            if functions.len() == before {
                return;
            }
        }
    }
}

/// Returns true if `function` is defined here.
fn has_body(function: Op<'_>) -> bool {
    function.regions().next().and_then(Region::first).is_some()
}

/// Returns an error if `call`, in what `callee` calls, would have to be inlined.
fn check_recursive<'c>(call: Op<'c>, callee: Op<'c>) -> Result<(), PassError<'c>> {
    if why(callee).is_none() {
        return Ok(());
    }
    Err(fault(call, callee, "it calls itself", "write it as a loop"))
}

/// Returns an error if `call`, of an unknown function, has tokens.
fn check_unknown<'c>(call: Op<'c>) -> Result<(), PassError<'c>> {
    let mut values = call.operands().chain(call.results());
    if !values.any(|value| is_token(value.ty())) {
        return Ok(());
    }
    let message = "has tokens, and what it calls is not known";
    let help = "call a function of this gpu.module by its name";
    Err(PassError::new(call, message).note(call, help))
}

/// Says that `callee` can't be inlined into `call`, and what to do.
fn fault<'c>(call: Op<'c>, callee: Op<'c>, why_not: &str, help: &str) -> PassError<'c> {
    let name = callee.str_attr(attr::SYM_NAME).unwrap_or_default();
    let why = why(callee).map_or(String::new(), |why| format!("{why} and so "));
    let message = format!("calls @{name}, which {why}has to be inlined, but {why_not}");
    PassError::new(call, message).note(callee, format!("the function is here: {help}"))
}

/// Why calls of `function` have to go, if they have to.
fn why(function: Op<'_>) -> Option<&'static str> {
    if function.is(async_::FUNC) {
        Some("is asynchronous")
    } else if has_tokens(function) {
        Some("takes or returns tokens")
    } else if function_type(function).is_some_and(|ty| takes_or_returns(ty, is_matrix)) {
        Some("takes or returns matrices of a warpgroup")
    } else if function.self_and_nested().into_iter().any(is_workgroup_alloc) {
        Some("allocates memory of the workgroup")
    } else {
        None
    }
}

/// Returns true if `ty` is an accumulator, or describes a matrix that a warpgroup multiplies.
fn is_matrix(ty: Type<'_>) -> bool {
    accumulated_matrix(ty).or_else(|| described_matrix(ty)).is_some()
}
