//! Streams and events.
//!
//! A wait is for the most recent record of its event at the time of the call, as `cuStreamWaitEvent` is documented; later records don't
//! affect it. Destroying a stream or an event with work pending lets that work end.

use crate::clock::{Clock, Timeline};
use crate::device::Device;
use crate::findings::{Call, Failure, Kind};
use crate::handles::{Handle, Misuse, What};
use crate::memory::Memory;
use crate::run::{ItemId, Work};
use std::collections::{BTreeMap, HashMap, VecDeque};

#[derive(Clone, Debug)]
pub struct Stream {
    pub timeline: Timeline,
    /// How much was issued on its timeline.
    pub issued: u64,
    /// What its last work knows.
    pub clock: Clock,
    /// What is pending, in order.
    pub queue: VecDeque<ItemId>,
    /// The last call that has put something there.
    pub last: Option<(Call, ItemId)>,
    pub is_destroyed: bool,
}

/// Of a timeline whose stream is gone.
#[derive(Clone, Debug)]
pub struct Retired {
    issued: u64,
    last: Option<Call>,
}

#[derive(Clone, Default, Debug)]
pub struct Streams {
    pub all: BTreeMap<Handle, Stream>,
    retired: BTreeMap<Timeline, Retired>,
    timelines: u32,
}

/// The most recent record of each event that was recorded.
pub type Records = HashMap<Handle, (ItemId, Clock)>;

impl Streams {
    /// A stream without work. It takes the timeline of one that is gone if the host knows all that was there.
    fn make(&mut self, host: &Clock) -> Stream {
        let known = host.epochs().find(|known| {
            let retired = self.retired.get(&known.timeline);
            retired.is_some_and(|retired| known.number >= retired.issued)
        });
        let known = known.and_then(|known| self.retired.remove_entry(&known.timeline));
        let (timeline, issued) = known.map_or_else(
            || {
                self.timelines += 1;
                (Timeline(self.timelines), 0)
            },
            |(timeline, retired)| (timeline, retired.issued),
        );
        Stream {
            timeline,
            issued,
            clock: Clock::default(),
            queue: VecDeque::new(),
            last: None,
            is_destroyed: false,
        }
    }

    /// Takes a stream away whose work has ended, if it was destroyed.
    pub fn retire(&mut self, handle: Handle) {
        let gone = |stream: &Stream| stream.is_destroyed && stream.queue.is_empty();
        if self.all.get(&handle).is_some_and(gone)
            && let Some(stream) = self.all.remove(&handle)
        {
            let retired = Retired {
                issued: stream.issued,
                last: stream.last.map(|(call, _)| call),
            };
            self.retired.insert(stream.timeline, retired);
        }
    }

    /// The last calls of those streams that have work of which the host doesn't know that it is done.
    pub fn not_awaited(&self, host: &Clock) -> Vec<Call> {
        let all = self.all.values();
        let all = all.map(|stream| (stream.timeline, stream.issued, stream.last.map(|(call, _)| call)));
        let retired = self.retired.iter();
        let retired = retired.map(|(timeline, stream)| (*timeline, stream.issued, stream.last));
        let left = all
            .chain(retired)
            .filter(|(timeline, issued, _)| host.get(*timeline) < *issued);
        let mut calls: Vec<Call> = left.filter_map(|(_, _, last)| last).collect();
        calls.sort_by_key(|call| call.number);
        calls
    }
}

impl<M: Memory> Device<M> {
    /// Makes a stream.
    pub fn stream_create(&mut self) -> Handle {
        let handle = self.handles.make(What::Stream, self.call);
        let stream = self.streams.make(&self.host);
        self.streams.all.insert(handle, stream);
        self.census.streams.add(1);
        handle
    }

    /// Destroys a stream. What is in it goes on.
    ///
    /// # Errors
    ///
    /// If it is none, or destroyed.
    pub fn stream_destroy(&mut self, stream: Handle) -> Result<(), Failure> {
        let destroyed = self.handles.destroy(stream, What::Stream, self.call);
        destroyed.map_err(|misuse| self.misuse(misuse))?;
        if let Some(stream) = self.streams.all.get_mut(&stream) {
            stream.is_destroyed = true;
        }
        self.streams.retire(stream);
        self.census.streams.remove(1);
        self.volunteers();
        Ok(())
    }

    /// The host waits for all that is in a stream.
    ///
    /// # Errors
    ///
    /// If it is none, or destroyed.
    pub fn stream_synchronize(&mut self, stream: Handle) -> Result<(), Failure> {
        self.census.host_syncs += 1;
        let handle = self.stream(stream)?;
        if let Some(stream) = self.streams.all.get(&handle) {
            let (last, clock) = (stream.queue.back().copied(), stream.clock.clone());
            self.wait_for(last, &clock);
        }
        self.volunteers();
        Ok(())
    }

    /// The host waits for all that is in all streams.
    pub fn synchronize(&mut self) {
        self.census.host_syncs += 1;
        let handles: Vec<Handle> = self.streams.all.keys().copied().collect();
        for handle in handles {
            if let Some(stream) = self.streams.all.get(&handle) {
                let (last, clock) = (stream.queue.back().copied(), stream.clock.clone());
                self.wait_for(last, &clock);
            }
        }
        self.volunteers();
    }

    /// Makes an event.
    pub fn event_create(&mut self) -> Handle {
        self.census.events.add(1);
        self.handles.make(What::Event, self.call)
    }

    /// Destroys an event. Waits for it go on.
    ///
    /// # Errors
    ///
    /// If it is none, or destroyed.
    pub fn event_destroy(&mut self, event: Handle) -> Result<(), Failure> {
        let destroyed = self.handles.destroy(event, What::Event, self.call);
        destroyed.map_err(|misuse| self.misuse(misuse))?;
        self.records.remove(&event);
        self.census.events.remove(1);
        self.volunteers();
        Ok(())
    }

    /// Records an event: from now on, it stands for all that is in the stream by now.
    ///
    /// # Errors
    ///
    /// If one of the two is none, or destroyed.
    pub fn event_record(&mut self, event: Handle, stream: Handle) -> Result<(), Failure> {
        self.census.records += 1;
        self.event(event)?;
        let stream = self.stream(stream)?;
        let (item, clock) = self.issue(stream, Work::Record);
        self.records.insert(event, (item, clock));
        self.volunteers();
        Ok(())
    }

    /// What is put into a stream from now on comes after what an event stands for.
    ///
    /// # Errors
    ///
    /// If one of the two is none, or destroyed.
    pub fn stream_wait_event(&mut self, stream: Handle, event: Handle) -> Result<(), Failure> {
        self.census.waits += 1;
        let stream = self.stream(stream)?;
        self.event(event)?;
        match self.records.get(&event).cloned() {
            Some((item, clock)) => {
                if let Some(stream) = self.streams.all.get_mut(&stream) {
                    stream.clock.join(&clock);
                }
                self.issue(stream, Work::Wait(item));
            }
            None => self.note_never_recorded(),
        }
        self.volunteers();
        Ok(())
    }

    /// The host waits for what an event stands for.
    ///
    /// # Errors
    ///
    /// If it is none, or destroyed.
    pub fn event_synchronize(&mut self, event: Handle) -> Result<(), Failure> {
        self.census.host_syncs += 1;
        self.event(event)?;
        match self.records.get(&event).cloned() {
            Some((item, clock)) => self.wait_for(Some(item), &clock),
            None => self.note_never_recorded(),
        }
        self.volunteers();
        Ok(())
    }

    fn wait_for(&mut self, item: Option<ItemId>, clock: &Clock) {
        if let Some(item) = item {
            self.force(item);
        }
        self.host.join(clock);
    }

    /// CUDA takes such an event for one that is complete.
    fn note_never_recorded(&mut self) {
        let message = "waits for an event that was never recorded, and so for nothing".to_owned();
        self.findings.add(Kind::NeverRecorded, self.call, None, message);
    }

    /// Checks that there is a stream. Null is the default stream, but a mistake: no program of MLIR's means that.
    pub(crate) fn stream(&mut self, stream: Handle) -> Result<Handle, Failure> {
        let checked = self.handles.check(stream, What::Stream);
        if let Err(misuse) = checked {
            let mut misuse = misuse;
            if stream != Handle::NULL {
                return Err(self.misuse(misuse));
            }
            misuse.message += "; it is taken for the default stream, as CUDA does";
            self.misuse(misuse);
            if !self.streams.all.contains_key(&stream) {
                let new = self.streams.make(&self.host);
                self.streams.all.insert(stream, new);
            }
        }
        Ok(stream)
    }

    fn event(&mut self, event: Handle) -> Result<(), Failure> {
        let checked = self.handles.check(event, What::Event);
        checked.map_err(|misuse| self.misuse(misuse))
    }

    pub(crate) fn misuse(&mut self, misuse: Misuse) -> Failure {
        self.wrong(misuse.kind, misuse.against, misuse.message)
    }
}
