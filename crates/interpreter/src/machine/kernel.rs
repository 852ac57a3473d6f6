//! A kernel that a program has launched: it runs some instructions at a time, so that others make progress meanwhile.

use super::grid::Start;
use super::{Launch, Machine, Stop};
use crate::adversary::Adversary;
use crate::code::Code;
use crate::memory::{Buffer, Memory};
use crate::report::{Reports, Spot};
use crate::value::Value;

/// A kernel that runs.
pub(crate) struct KernelRun<'c> {
    pub machine: Machine<'c>,
    /// How many of its buffers are the program's.
    pub common: usize,
    start: Start,
    /// The block that runs, or runs next.
    block: u32,
    is_inside: bool,
    /// Its instructions before the last slice.
    steps: u64,
}

/// What is known of a kernel that has ended, and in which something was found.
pub struct Ended {
    /// Its place among the kernels of the program.
    pub kernel: usize,
    /// How it was launched.
    pub launch: Launch,
    /// What was found.
    pub reports: Reports,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
    /// The iterations that the reports refer to.
    pub iterations: Vec<Box<[u32]>>,
    /// What has stopped it.
    pub stop: Option<Stop>,
    /// The launch; or where the host has freed the buffer that the kernel has accessed after that.
    pub against: Spot,
}

impl<'c> KernelRun<'c> {
    /// A kernel that has not begun; `globals` are its variables.
    pub fn new(code: &'c Code, launch: Launch, memory: Memory, args: &[Value], globals: Vec<Value>) -> Self {
        let mut machine = Machine::new(code, launch, memory);
        machine.declared = Some(globals);
        Self::of(machine, args)
    }

    /// The kernel of a machine that has not begun, and whose variables were declared.
    pub fn of(mut machine: Machine<'c>, args: &[Value]) -> Self {
        let common = machine.memory.buffer_count();
        // What happens early happens as it mostly does on hardware, also where threads race.
        machine.in_lockstep = matches!(machine.memory.adversary(), Adversary::Early);
        let start = machine.launch_state(args);
        Self {
            machine,
            common,
            start,
            block: 0,
            is_inside: false,
            steps: 0,
        }
    }

    /// Runs about so many instructions. Returns true if it has ended.
    ///
    /// # Errors
    ///
    /// Where an instruction can't be run.
    pub fn slice(&mut self, steps: u64) -> Result<bool, Stop> {
        let machine = &mut self.machine;
        self.steps = machine.steps;
        machine.pause_at = machine.steps.saturating_add(steps);
        let blocks = machine.launch.grid.iter().product::<u32>();
        while self.block < blocks {
            if !self.is_inside {
                machine.begin_block(&mut self.start, self.block);
                self.is_inside = true;
            }
            let ran = machine.run_warps(&mut |_| {});
            if ran.is_ok() && machine.is_paused() {
                return Ok(false);
            }
            let ran = machine.finish_block(ran, &mut |_| {});
            machine.collect_prints();
            ran?;
            self.is_inside = false;
            self.block += 1;
        }
        Ok(true)
    }

    /// How many instructions it has run in the last slice.
    pub fn steps_of_slice(&self) -> u64 {
        self.machine.steps - self.steps
    }
}

impl Ended {
    /// What is to be kept of a kernel.
    pub(super) fn new(kernel: usize, run: KernelRun<'_>, stop: Option<Stop>, against: Spot) -> Option<Self> {
        let mut machine = run.machine;
        let (launch, iterations) = (machine.launch.clone(), std::mem::take(&mut machine.iterations));
        let (buffers, _, reports) = machine.memory.into_parts();
        (stop.is_some() || !reports.is_empty()).then_some(Self {
            kernel,
            launch,
            reports,
            buffers,
            iterations,
            stop,
            against,
        })
    }
}
