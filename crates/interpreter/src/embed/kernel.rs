//! A kernel that runs some instructions at a time, on memory outside that others change meanwhile.

use super::{Arguments, Decoded, Outside};
use crate::adversary::Adversary;
use crate::code::Code;
use crate::machine::{KernelRun, Launch, Machine, Stop};
use crate::memory::Memory;
use crate::show::{self, Names};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Instructions of a kernel before others have their turn: as many as it takes that they cost more than the copies of memory, in bounds.
const SLICE: Range<u64> = 1 << 16..1 << 20;
const BYTES_PER_INSTRUCTION: u64 = 8;

/// A kernel that runs.
pub struct Running<'c> {
    code: &'c Code,
    run: KernelRun<'c>,
    arguments: Arguments,
    slice: u64,
    stop: Option<Stop>,
    is_broken: bool,
}

impl<'c> Running<'c> {
    /// A kernel that has not begun. `variables` are the addresses of its [`Code::global`].
    ///
    /// # Errors
    ///
    /// A message, if there is no room for its memory.
    pub fn new(
        code: &'c Code,
        launch: Launch,
        adversary: Adversary,
        arguments: Decoded,
        variables: &[u64],
        outside: &dyn Outside,
    ) -> Result<Self, String> {
        let mut memory = Memory::new(adversary, code.threads(launch.block));
        let mut arguments = arguments.bind(&mut memory, outside)?;
        let mut machine = Machine::new(code, launch, memory);
        let declared = machine.declare_variables(|_| None);
        for (buffer, address) in declared.into_iter().zip(variables) {
            arguments.share_variable(buffer, *address, &machine.memory);
        }
        let slice = (arguments.bytes() as u64 / BYTES_PER_INSTRUCTION).clamp(SLICE.start, SLICE.end);
        let run = KernelRun::of(machine, &arguments.values);
        Ok(Self {
            code,
            run,
            arguments,
            slice,
            stop: None,
            is_broken: false,
        })
    }

    /// Runs on for a while. Returns true if it has ended.
    pub fn step(&mut self, outside: &mut dyn Outside) -> bool {
        self.arguments.refresh(&mut self.run.machine.memory, outside);
        let run = &mut self.run;
        let ran = catch_unwind(AssertUnwindSafe(|| run.slice(self.slice)));
        let ended = match ran {
            Ok(Ok(ended)) => ended,
            Ok(Err(stop)) => {
                self.stop = Some(stop);
                true
            }
            Err(_) => {
                self.is_broken = true;
                return true;
            }
        };
        self.arguments
            .write_back(self.run.machine.memory.buffers(), outside);
        ended
    }

    /// What it has printed since this was asked last.
    pub fn take_printed(&mut self) -> String {
        std::mem::take(&mut self.run.machine.printed)
    }

    /// Calls `f` with the addresses of what it has accessed so far, whether it has written there, and whether all that was atomic.
    pub fn each_access(&self, f: impl FnMut(Range<u64>, bool, bool)) {
        let touched = self.run.machine.memory.touched(self.run.common);
        self.arguments.each_access(&touched, f);
    }

    /// What is wrong with it, as text: all findings, one after the other.
    ///
    /// # Errors
    ///
    /// That text.
    pub fn finish(self) -> Result<(), String> {
        if self.is_broken {
            return Err("internal error of the interpreter (this is a bug in async-opt)".into());
        }
        let mut machine = self.run.machine;
        let iterations = std::mem::take(&mut machine.iterations);
        let Launch { grid, block, .. } = *machine.launched();
        let (buffers, _, reports) = machine.memory.into_parts();
        let names = Names {
            code: self.code,
            buffers: &buffers,
            iterations: &iterations,
            block,
            grid,
            tasks: &[],
        };
        let mut findings = names.findings(&reports, self.stop.as_ref());
        findings.retain(|finding| !finding.note);
        let texts = show::groups(&findings);
        let texts: Vec<String> = texts
            .iter()
            .map(|group| group.text().trim_end().to_owned())
            .collect();
        if texts.is_empty() {
            Ok(())
        } else {
            Err(texts.join("\n"))
        }
    }
}
