//! What a program has made, and what it has left.

use std::fmt;

/// How many objects of a kind there were.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Made {
    /// In all.
    pub made: u64,
    /// Those that are alive.
    pub alive: u64,
    /// The most at a time.
    pub peak: u64,
}

impl Made {
    pub(crate) fn add(&mut self, count: u64) {
        self.made += count;
        self.alive += count;
        self.peak = self.peak.max(self.alive);
    }

    pub(crate) fn remove(&mut self, count: u64) {
        self.alive = self.alive.saturating_sub(count);
    }
}

/// What a program has made, done and left.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Census {
    /// Streams; the default stream is not counted.
    pub streams: Made,
    /// Events.
    pub events: Made,
    /// Allocations of the device and of managed memory.
    pub allocations: Made,
    /// The bytes of these.
    pub bytes: Made,
    /// Modules.
    pub modules: Made,
    /// Copies.
    pub copies: u64,
    /// Copies between the device and memory of the host that is not registered: CUDA may make the host wait for them.
    pub pageable_copies: u64,
    /// Memsets.
    pub memsets: u64,
    /// Launches.
    pub launches: u64,
    /// Launches that did nothing, since their module could not be loaded.
    pub empty_launches: u64,
    /// Records of events.
    pub records: u64,
    /// Waits of streams for events.
    pub waits: u64,
    /// Waits of the host.
    pub host_syncs: u64,
}

impl Census {
    /// Returns true if nothing is left.
    pub fn is_clean(&self) -> bool {
        [self.streams, self.events, self.allocations, self.modules]
            .iter()
            .all(|made| made.alive == 0)
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            streams,
            events,
            allocations,
            bytes,
            ..
        } = self;
        let made = |made: &Made| format!("{} ({} leaked, peak {})", made.made, made.alive, made.peak);
        writeln!(f, "streams {}, events {}", made(streams), made(events))?;
        writeln!(
            f,
            "allocations {}, bytes {} ({} leaked, peak {})",
            made(allocations),
            bytes.made,
            bytes.alive,
            bytes.peak
        )?;
        writeln!(
            f,
            "copies {} ({} pageable), memsets {}, launches {} ({} empty)",
            self.copies, self.pageable_copies, self.memsets, self.launches, self.empty_launches
        )?;
        write!(
            f,
            "records {}, waits {}, host syncs {}",
            self.records, self.waits, self.host_syncs
        )
    }
}
