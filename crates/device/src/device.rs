//! The device and its calls.

use crate::adversary::Adversary;
use crate::allocations::Allocations;
use crate::census::Census;
use crate::clock::Clock;
use crate::findings::{Call, Failure, Finding, Findings, Kind};
use crate::handles::{Handle, Handles};
use crate::history::History;
use crate::kernel::{Loader, NoLoader};
use crate::memory::Memory;
use crate::modules::Modules;
use crate::run::{Item, ItemId, Work};
use crate::streams::{Records, Streams};
use std::collections::{BTreeMap, BTreeSet};
use std::env;

/// What a device does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// When work runs.
    pub schedule: Adversary,
    /// The number of a call that fails, counted from 1.
    pub fail_at: Option<u64>,
    /// How many steps of kernels run without an end of any before everything that is ready runs beside them.
    pub patience: u32,
    /// How many steps of kernels run without an end of any before they are given up.
    pub max_steps: u32,
    /// Whether accesses of the host's own memory race with each other, too. Where such memory is freed and allocated again without
    /// the device being told, that gives false reports.
    pub host_memory: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            schedule: Adversary::Late,
            fail_at: None,
            patience: 1000,
            max_steps: 1_000_000,
            host_memory: true,
        }
    }
}

impl Options {
    /// What `ASYNCOPT_DEVICE_SCHEDULE` and `ASYNCOPT_DEVICE_FAIL_AT` say. What they can't say is a message, and counts as nothing.
    pub fn from_environment(mut report: impl FnMut(String)) -> Self {
        let mut options = Self::default();
        if let Ok(text) = env::var("ASYNCOPT_DEVICE_SCHEDULE") {
            match text.parse() {
                Ok(schedule) => options.schedule = schedule,
                Err(message) => report(format!("ASYNCOPT_DEVICE_SCHEDULE: {message}")),
            }
        }
        if let Ok(text) = env::var("ASYNCOPT_DEVICE_FAIL_AT") {
            match text.parse() {
                Ok(number @ 1..) => options.fail_at = Some(number),
                _ => report(format!(
                    "ASYNCOPT_DEVICE_FAIL_AT is '{text}': give the number of a call, counted from 1"
                )),
            }
        }
        options
    }
}

/// A simulated device, and what is known of the host.
///
/// Its calls are in an order: where several threads of a host call, their order is taken for one that the program makes.
pub struct Device<M> {
    pub(crate) options: Options,
    pub(crate) memory: M,
    pub(crate) loader: Box<dyn Loader>,
    /// The call that runs.
    pub(crate) call: Call,
    /// How many there were.
    calls: u64,
    pub(crate) adversary: Adversary,
    pub(crate) handles: Handles,
    pub(crate) streams: Streams,
    pub(crate) records: Records,
    pub(crate) modules: Modules,
    pub(crate) allocations: Allocations,
    pub(crate) history: History,
    /// What the host knows.
    pub(crate) host: Clock,
    /// How much was issued.
    pub(crate) issued: u64,
    /// What is pending.
    pub(crate) items: BTreeMap<ItemId, Item>,
    /// The streams where something is pending.
    pub(crate) busy: BTreeSet<Handle>,
    /// The streams whose kernels have had their turn since something has ended.
    pub(crate) yielded: BTreeSet<Handle>,
    pub(crate) findings: Findings,
    pub(crate) census: Census,
}

impl<M: Memory> Device<M> {
    /// A device that nothing has happened on.
    pub fn new(memory: M, options: Options) -> Self {
        Self {
            adversary: options.schedule.clone(),
            options,
            memory,
            loader: Box::new(NoLoader),
            call: Call {
                name: "the start",
                number: 0,
                place: "",
            },
            calls: 0,
            handles: Handles::default(),
            streams: Streams::default(),
            records: Records::default(),
            modules: Modules::default(),
            allocations: Allocations::default(),
            history: History::default(),
            host: Clock::default(),
            issued: 0,
            items: BTreeMap::new(),
            busy: BTreeSet::new(),
            yielded: BTreeSet::new(),
            findings: Findings::default(),
            census: Census::default(),
        }
    }

    /// Sets what loads modules.
    pub fn set_loader(&mut self, loader: Box<dyn Loader>) {
        self.loader = loader;
    }

    /// Begins a call: what follows is its doing, in all findings.
    ///
    /// # Errors
    ///
    /// If this is the call that has to fail: then nothing may follow.
    pub fn begin(&mut self, name: &'static str) -> Result<Call, Failure> {
        self.begin_at(name, "")
    }

    /// Begins a call that the program makes at `place`.
    ///
    /// # Errors
    ///
    /// As [`Device::begin`].
    pub fn begin_at(&mut self, name: &'static str, place: &'static str) -> Result<Call, Failure> {
        self.calls += 1;
        let number = self.calls;
        self.call = Call { name, number, place };
        if self.options.fail_at == Some(number) {
            return Err(Failure {
                message: format!("{}: fails, as it was told to", self.call),
                against: None,
                is_finding: false,
            });
        }
        Ok(self.call)
    }

    /// The call that runs.
    pub fn current(&self) -> Call {
        self.call
    }

    /// Goes on with a call that others have come after.
    pub fn resume(&mut self, call: Call) {
        self.call = call;
    }

    /// Has a part of the host call the device that knows `clock` and no more, such as a task. It learns what it waits for.
    pub fn acting<T>(&mut self, clock: &mut Clock, what: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.host, clock);
        let result = what(self);
        std::mem::swap(&mut self.host, clock);
        result
    }

    /// Puts a copy into a stream. One within the host's memory is done on return; one between pageable memory of the host and the device may
    /// be or not (CUDA driver API, "API synchronization behavior").
    ///
    /// # Errors
    ///
    /// If the stream is none, or bytes are not there.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64, stream: Handle) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        self.census.copies += 1;
        if bytes == 0 {
            return Ok(());
        }
        let (target, source) = (self.bytes_at(to, bytes)?, self.bytes_at(from, bytes)?);
        self.check_bytes(&source)?;
        self.check_bytes(&target)?;
        if target.start < source.end && source.start < target.end {
            let message = format!(
                "copies {} over its own source",
                self.allocations.describe(&source)
            );
            self.findings.add(Kind::Overlap, self.call, None, message);
        }
        let within_host = self.allocations.is_host(&target) && self.allocations.is_host(&source);
        let pageable = self.allocations.is_pageable(&target) || self.allocations.is_pageable(&source);
        let (item, clock) = self.issue(stream, Work::Copy { to, from, bytes });
        if within_host {
            self.force(item);
            self.host.join(&clock);
        } else if pageable {
            self.census.pageable_copies += 1;
        }
        self.volunteers();
        Ok(())
    }

    /// Puts a memset into a stream: `element`, so often.
    ///
    /// # Errors
    ///
    /// If the stream is none, or bytes are not there.
    pub fn fill(&mut self, to: u64, element: &[u8], count: u64, stream: Handle) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        self.census.memsets += 1;
        let bytes = count.saturating_mul(element.len() as u64);
        if bytes == 0 {
            return Ok(());
        }
        let range = self.bytes_at(to, bytes)?;
        self.check_bytes(&range)?;
        if self.allocations.is_pageable(&range) {
            let message = "fills memory of the host that is not registered".to_owned();
            return Err(self.wrong(Kind::UnknownPointer, None, message));
        }
        let element = element.to_vec();
        self.issue(stream, Work::Fill { to, element, count });
        self.volunteers();
        Ok(())
    }

    /// Puts a function of the host into a stream. It may not call the device.
    ///
    /// # Errors
    ///
    /// If the stream is none.
    pub fn host_function(
        &mut self,
        function: Box<dyn FnOnce() + Send>,
        stream: Handle,
    ) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        self.issue(stream, Work::Host(function));
        self.volunteers();
        Ok(())
    }

    /// The program ends: what is pending is checked, but not run any more, and what is left is reported.
    pub fn finish(&mut self) {
        let pending = std::mem::take(&mut self.items);
        for item in pending.values() {
            self.note_accesses(item);
        }
        self.busy.clear();
        self.streams
            .all
            .values_mut()
            .for_each(|stream| stream.queue.clear());
        for call in self.streams.not_awaited(&self.host) {
            let message = "nobody has waited for this when the program ended".to_owned();
            self.findings.add(Kind::NeverAwaited, call, None, message);
        }
        self.report_leaked_memory();
    }

    /// All that was found, the first of each kind and pair of calls.
    pub fn findings(&self) -> &[Finding] {
        &self.findings.all
    }

    /// What was found since this was asked last, as far as it is of a new kind or between new calls.
    pub fn news(&mut self) -> &[Finding] {
        let told = self.findings.told;
        self.findings.told = self.findings.all.len();
        &self.findings.all[told..]
    }

    /// What was made, done and left.
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// How the schedule has answered, to try other answers.
    pub fn adversary(&self) -> &Adversary {
        &self.adversary
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The memory, for the host to write.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Reports a mistake of the call that runs.
    pub(crate) fn wrong(&mut self, kind: Kind, against: Option<Call>, message: String) -> Failure {
        let failure = Failure {
            message: format!("{}: {message}", self.call),
            against,
            is_finding: true,
        };
        self.findings.add(kind, self.call, against, message);
        failure
    }
}
