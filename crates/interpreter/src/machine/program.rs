//! Host code of a whole program: what it does with a device, and what it prints.

mod text;

use super::kernel::{Ended, KernelRun};
use super::{Launch, Machine, Next, Reason, State};
use crate::code::{HostOp, LaunchOp, Reg};
use crate::memory::{Contents, Fault, Owner, Space};
use crate::report::Problem;
use crate::value::{BufferId, Pointer, Value, View, row_by_row};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::Arc;

/// Instructions of a kernel, or of a task of the host, before others that run at the same time have their turn.
pub(super) const SLICE: u64 = 1 << 16;

/// What the buffers of a device are aligned to.
const DEVICE_ALIGN: u32 = 256;

impl<'c> Machine<'c> {
    pub(super) fn host(&mut self, t: usize, op: &'c HostOp) -> Result<Next, Reason> {
        if self.is_not_there(t, op) {
            return Ok(Next::Goes);
        }
        if self.call_fails(t, op)? {
            return Ok(Next::Waits(State::Done));
        }
        match op {
            HostOp::Own { view, owner } => {
                let view = self.view(t, *view)?;
                self.memory.set_origin(view.buffer, *owner);
            }
            HostOp::Register { view, locked } => self.register(t, *view, *locked)?,
            HostOp::Dealloc { view } => {
                let view = self.view(t, *view)?;
                if self.memory.origin(view.buffer) == Owner::Host {
                    self.misuse(
                        t,
                        view.buffer,
                        "the host has allocated {}",
                        "free it with memref.dealloc",
                    );
                }
                self.free(t, view.buffer)?;
            }
            HostOp::Claim { view } => {
                let (view, actor) = (self.view(t, *view)?, self.actor(t));
                let buffer = self.memory.buffer(view.buffer);
                if let Some(freed) = buffer.freed_at {
                    // What frees it has not waited for this.
                    let problem = Problem::freed_early(freed, actor.spot, &buffer.name);
                    self.memory.reports.problem(problem);
                } else {
                    self.memory.claim(actor, view.buffer)?;
                }
            }
            HostOp::Transfer { from, to, .. } => self.transfer(t, *from, *to)?,
            HostOp::TransferToNew { from, to, owner, .. } => {
                let new = self.buffer_like(t, *from, *owner)?;
                self.set(t, *to, new);
                self.transfer(t, *from, *to)?;
            }
            HostOp::Fill { view, value } => self.fill(t, *view, *value)?,
            HostOp::Launch(launch) => return self.launch(t, launch),
            HostOp::Print(print) => {
                let text = self.host_text(t, print)?;
                self.printed += &text;
            }
        }
        Ok(Next::Goes)
    }

    fn buffer_like(&mut self, t: usize, from: Reg, owner: Owner) -> Result<Value, Reason> {
        let mut view = View::clone(&*self.view(t, from)?);
        (view.base, view.offset) = (0, 0);
        view.strides = row_by_row(&view.sizes);
        let bytes = view.span_bytes().filter(|bytes| self.memory.has_room(*bytes));
        let contents = Contents::Unwritten(bytes.ok_or(Reason::Room)?);
        let place = &self.code.instrs[self.threads[t].pc].place;
        let name = format!("the buffer of {}", place.location);
        let array = view.array();
        view.buffer = self
            .memory
            .add(name, Space::Global, DEVICE_ALIGN, contents, array);
        self.memory.set_origin(view.buffer, owner);
        Ok(Value::View(Arc::new(view)))
    }

    /// Page-locks memory, or ends that. Who accesses it from the device comes before the end.
    fn register(&mut self, t: usize, view: Reg, locked: bool) -> Result<(), Reason> {
        let view = self.view(t, view)?;
        let buffer = view.buffer;
        let (is_locked, is_pageable) = (
            !self.memory.locked(buffer).is_empty(),
            self.memory.origin(buffer) == Owner::Host,
        );
        if !is_pageable {
            self.misuse(
                t,
                buffer,
                "{} is no pageable memory",
                "register what the host allocates",
            );
        } else if locked == is_locked {
            let what = if locked {
                "{} is registered already"
            } else {
                "{} is not registered"
            };
            self.misuse(
                t,
                buffer,
                what,
                "register it once before, and unregister it once after",
            );
        } else if locked {
            self.memory.lock(buffer, bytes_of(&view));
        } else {
            let actor = self.actor(t);
            self.memory.claim(actor, buffer)?;
            self.memory.lock(buffer, 0..0);
        }
        Ok(())
    }

    /// Reports an operation that is not for such a buffer, whose name replaces `{}`.
    pub(super) fn misuse(&mut self, t: usize, buffer: BufferId, what: &str, advice: &'static str) {
        let name = &self.memory.buffer(buffer).name;
        let problem = Problem::misuse(self.spot(t), what.replace("{}", name), advice);
        self.memory.reports.problem(problem);
    }

    fn transfer(&mut self, t: usize, from: Reg, to: Reg) -> Result<(), Reason> {
        let (from, to) = (self.view(t, from)?, self.view(t, to)?);
        for (dim, (&size, &expected)) in to.sizes.iter().zip(&from.sizes).enumerate() {
            if size != expected {
                return Err(Reason::Transfer { dim, size, expected });
            }
        }
        if from.buffer == to.buffer && spans_meet(&from, &to) {
            self.misuse(
                t,
                to.buffer,
                "copies between parts of {} that overlap",
                "copy by way of another buffer",
            );
        }
        let actor = self.actor(t);
        // Elements in a row are copied at once.
        let mut row: Option<(Pointer, Pointer, usize)> = None;
        for (source, target) in pointers(&from).zip(pointers(&to)) {
            let bytes = usize::try_from(from.elem_bytes()).unwrap_or(0);
            let goes_on = row.as_ref().is_some_and(|(first, second, so_far)| {
                let so_far = i64::try_from(*so_far).unwrap_or(i64::MAX);
                first.offset + so_far == source.offset && second.offset + so_far == target.offset
            });
            match &mut row {
                Some((_, _, so_far)) if goes_on => *so_far += bytes,
                row => {
                    if let Some((source, target, bytes)) = row.replace((source, target, bytes)) {
                        self.memory.copy_bytes(actor, source, target, bytes)?;
                    }
                }
            }
        }
        if let Some((source, target, bytes)) = row {
            self.memory.copy_bytes(actor, source, target, bytes)?;
        }
        Ok(())
    }

    fn fill(&mut self, t: usize, view: Reg, value: Reg) -> Result<(), Reason> {
        let (view, numbers) = (self.view(t, view)?, self.numbers(t, value)?);
        let size = view.elem.bytes();
        let bytes = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes().into_iter().take(size));
        let (bytes, actor): (Vec<u8>, _) = (bytes.collect(), self.actor(t));
        for at in pointers(&view) {
            self.memory.write_anywhere(actor, at, &bytes)?;
        }
        Ok(())
    }

    /// Runs a kernel, or goes on with it.
    fn launch(&mut self, t: usize, op: &'c LaunchOp) -> Result<Next, Reason> {
        let mut run = match self.running.remove(&t) {
            Some(run) => run,
            None => Box::new(self.start_kernel(t, op)?),
        };
        self.memory.lend_to(&mut run.machine.memory, run.common);
        let ended = run.slice(SLICE);
        self.memory.take_back(&mut run.machine.memory, run.common);
        self.steps += run.steps_of_slice();
        if matches!(ended, Ok(false)) {
            self.running.insert(t, run);
            self.is_other_turn = true;
            return Ok(Next::Jumps(self.threads[t].pc));
        }
        self.printed += &std::mem::take(&mut run.machine.printed);
        let touched = run.machine.memory.touched(run.common);
        let stop = ended.err();
        let stopped = stop.is_some();
        let freed_at = stop.as_ref().and_then(|stop| match stop.reason {
            Reason::Fault(Fault::Freed { buffer }) if (buffer.0 as usize) < run.common => {
                self.memory.buffer(buffer).freed_at
            }
            _ => None,
        });
        let against = freed_at.unwrap_or(self.spot(t));
        self.ended.extend(Ended::new(op.kernel, *run, stop, against));
        let actor = self.actor(t);
        self.memory.note_kernel(actor, &touched)?;
        if stopped {
            return Err(Reason::Kernel);
        }
        Ok(Next::Goes)
    }

    fn start_kernel(&mut self, t: usize, op: &'c LaunchOp) -> Result<KernelRun<'c>, Reason> {
        let code = &self.code.kernels[op.kernel];
        let mut sizes = [[0; 3]; 2];
        for (to, from) in sizes.iter_mut().zip([op.grid, op.block]) {
            for (to, from) in to.iter_mut().zip(from) {
                let size = self.index(t, from)?;
                *to = u32::try_from(size).ok().filter(|size| *size > 0).ok_or_else(|| {
                    Reason::Launch(format!(
                        "a size of the launch is {size}, and each is 1 to {}",
                        u32::MAX
                    ))
                })?;
            }
        }
        let [grid, block] = sizes;
        let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
        if product(block) > 1024 {
            let message = format!("a block has 1 to 1024 threads, and here {}", product(block));
            return Err(Reason::Launch(message));
        }
        if product(grid) * product(block) > u128::from(u32::MAX) {
            let message = format!("a grid has at most {} threads here", u32::MAX);
            return Err(Reason::Launch(message));
        }
        let dynamic = self.index(t, op.dynamic_workgroup)?;
        let dynamic_workgroup = usize::try_from(dynamic)
            .ok()
            .filter(|bytes| *bytes <= MAX_WORKGROUP);
        let dynamic_workgroup = dynamic_workgroup.ok_or_else(|| {
            Reason::Launch(format!(
                "a block has 0 to {MAX_WORKGROUP} bytes of dynamic workgroup memory here, and not {dynamic}"
            ))
        })?;
        let mut args = Vec::with_capacity(op.args.len());
        for arg in &op.args {
            args.push(self.value(t, *arg)?.clone());
        }
        self.declare_globals(op.kernel);
        let launch = Launch {
            grid,
            block,
            dynamic_workgroup,
            budget: self.launch.budget,
        };
        let memory = self.memory.for_kernel(code.threads(block));
        let globals = self.globals[&op.kernel].clone();
        Ok(KernelRun::new(code, launch, memory, &args, globals))
    }

    /// Variables of a kernel are there from its first launch on.
    fn declare_globals(&mut self, kernel: usize) {
        if self.globals.contains_key(&kernel) {
            return;
        }
        let mut values = Vec::new();
        for decl in &self.code.kernels[kernel].global {
            let key = (self.code.kernels[kernel].module.clone(), decl.name.clone());
            let value = match self.variables.get(&key) {
                Some(known) => known.clone(),
                None => self.declare(decl, Space::Global),
            };
            if let Value::View(view) = &value {
                self.memory.set_owner(view.buffer, Owner::Device);
            }
            self.variables.insert(key, value.clone());
            values.push(value);
        }
        self.globals.insert(kernel, values);
    }
}

/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

/// Where the elements of a view are, row by row.
fn pointers(view: &View) -> impl Iterator<Item = Pointer> {
    let count = view.sizes.iter().product::<i64>();
    (0..count).map(move |mut number| {
        let mut at = view.offset;
        for (size, stride) in view.sizes.iter().zip(&view.strides).rev() {
            at = at.wrapping_add((number % size).wrapping_mul(*stride));
            number /= size;
        }
        view.element(at)
    })
}

/// Returns true if two views of one buffer have an element in common.
/// The bytes of a view's buffer from its first element to its last.
fn bytes_of(view: &View) -> Range<usize> {
    if view.sizes.contains(&0) {
        return 0..0;
    }
    let (mut first, mut last) = (view.offset, view.offset);
    for (size, stride) in view.sizes.iter().zip(&view.strides) {
        let reach = (size - 1).saturating_mul(*stride);
        first = first.saturating_add(reach.min(0));
        last = last.saturating_add(reach.max(0));
    }
    let byte = |element: i64| {
        let offset = element
            .saturating_mul(view.elem_bytes())
            .saturating_add(view.base);
        usize::try_from(offset).unwrap_or(0)
    };
    byte(first)..byte(last.saturating_add(1))
}

fn spans_meet(one: &View, other: &View) -> bool {
    let bytes: FxHashSet<i64> = pointers(one).map(|at| at.offset).collect();
    pointers(other).any(|at| bytes.contains(&at.offset))
}
