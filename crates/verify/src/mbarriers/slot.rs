//! The mbarrier of a slot, and what instructions do to it.
//!
//! The rules are those of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A phase counts pending arrivals,
//! and the bytes that are expected less those that loads have completed. It is complete when both are 0, and the next one begins.
//!
//! An account says where the thread is that executes the code: in which phase, how many arrivals are pending, and the *debt*, which is the
//! bytes expected less those of the loads that were issued. Once the last arrival is done, the phase may be complete, and is after a wait.
//! `proofs/` has these rules, with a proof, for threads that all execute the same, of which one arrives. Two things are about the others:
//!
//! - They may be *at the wait* for the last phase while this thread goes on. If the next phase were complete by then, its parity would be
//!   that of the phase before, and they would never pass.
//! - They may be *behind*, and not know that phases are complete for which others have waited. If they waited for the next one, they
//!   might take an older phase for it, which has the same parity.

use super::certificate::Account;
use super::code::{Gathering, MOST_GATHERINGS, Roles, Who};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The bytes that a phase may expect at most (PTX ISA, "tx-count").
const MOST_BYTES: i64 = (1 << 20) - 1;

/// The arrivals that a phase may count at most (PTX ISA, `mbarrier.init`).
const MOST_ARRIVALS: i64 = (1 << 20) - 1;

/// An mbarrier.
#[allow(clippy::struct_excessive_bools)] // They have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// The arrivals of each phase; 0 if it is not initialized.
    count: i64,
    pending: i64,
    debt: i64,
    /// The parity of the phase that it is in, or that was armed and not waited for.
    parity: bool,
    /// The roles whose threads may still be at their wait for the last phase.
    #[serde(default, skip_serializing_if = "is_default")]
    at_wait: Roles,
    /// Those of them who have passed it once the thread that issues has waited for those who gather.
    #[serde(default, skip_serializing_if = "is_default")]
    gathering: [Roles; MOST_GATHERINGS],
    /// The roles whose threads don't know that the last phase is complete, nor that the one before is.
    #[serde(default, skip_serializing_if = "is_default")]
    behind: [Roles; 2],
    /// True if the other threads may find the mbarrier not initialized.
    #[serde(default, skip_serializing_if = "is_default")]
    is_new: bool,
    /// True if the asynchronous proxy may find it not initialized.
    #[serde(default, skip_serializing_if = "is_default")]
    is_unfenced: bool,
    /// True if loads of the phase were issued.
    #[serde(default, skip_serializing_if = "is_default")]
    has_loads: bool,
    /// How many times threads have gathered since the last time that the last phase, as it was armed, came after.
    #[serde(default, skip_serializing_if = "is_default")]
    age: u8,
}

/// Returns true if a field says nothing.
pub(super) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// An mbarrier without an initialization.
pub const NOT_INITIALIZED: Slot = Slot {
    count: 0,
    pending: 0,
    debt: 0,
    parity: false,
    at_wait: 0,
    gathering: [0; MOST_GATHERINGS],
    behind: [0; 2],
    is_new: false,
    is_unfenced: false,
    has_loads: false,
    age: 0,
};

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The slot is not known, or there is none of this number.
    Slot,
    /// A parity, a count or a number of bytes is not known.
    Number,
    /// The mbarrier is not initialized, or threads may not see that it is.
    NotInitialized,
    /// The mbarrier is initialized already.
    Initialized,
    /// A phase counts no arrival, or too many.
    Count,
    /// The phase has all its arrivals, and may be complete or not.
    Armed,
    /// The phase has fewer pending arrivals than arrive.
    TooManyArrivals,
    /// More bytes arrive than are expected.
    Unexpected,
    /// More bytes are expected than can be.
    TooManyBytes,
    /// Threads may be waiting for the last phase.
    AtWait,
    /// The phase that is waited for may not be complete ever.
    Never,
    /// The phase before the one that is waited for may not be complete yet.
    TooEarly,
    /// The phase after the one that is waited for may be complete.
    TooLate,
    /// The mbarrier is in use.
    InUse,
    /// A load of a token may not have landed.
    InFlight,
    /// A wait for all threads is for others than those that have come last.
    Gathered,
    /// There are too many states to look at.
    TooMany,
    /// The certificate does not hold.
    Unproven,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slot => "uses an mbarrier of which it is not known which one it is",
            Self::Number => "uses a parity, a count or a number of bytes that is not known",
            Self::NotInitialized => "uses an mbarrier that may not be initialized",
            Self::Initialized => "initializes an mbarrier that is initialized already",
            Self::Count => "initializes an mbarrier for a number of arrivals that can't be",
            Self::Armed => "arms an mbarrier whose last phase may not be complete",
            Self::TooManyArrivals => "arrives more often than the mbarrier counts",
            Self::Unexpected => "has a load complete more bytes than the mbarrier expects",
            Self::TooManyBytes => "expects more bytes than an mbarrier can count",
            Self::AtWait => "arms an mbarrier while threads may still wait for its last phase",
            Self::Never => "waits for a phase that may never be complete",
            Self::TooEarly => "waits for a phase before the one before it is complete",
            Self::TooLate => "waits for a phase when the next one may be complete",
            Self::InUse => "leaves an mbarrier in use",
            Self::InFlight => "is reached while a load that it awaits may be in flight",
            Self::Gathered => "waits for others than those threads that have arrived last",
            Self::TooMany => "has mbarriers with more states than can be looked at",
            Self::Unproven => "has mbarriers whose certificate does not hold",
        })
    }
}

/// What a wait is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waited {
    /// The roles whose threads know by now that no load of the slot is in flight.
    pub know: Roles,
    /// How many times threads have gathered since the phase was armed.
    pub age: u8,
}

impl Slot {
    fn is_initialized(&self) -> Result<(), Fault> {
        if self.count == 0 {
            return Err(Fault::NotInitialized);
        }
        Ok(())
    }

    /// Returns true if all arrivals of the phase are done, so that it is over at some time.
    fn is_armed(&self) -> bool {
        self.pending == 0
    }

    /// Begins the next phase: the last one is complete, as only `know` know.
    fn advance(&mut self, know: Roles, all: Roles) {
        self.parity = !self.parity;
        self.pending = self.count;
        self.has_loads = false;
        let [last, before] = self.behind;
        self.behind = [all & !know, (last | before) & !know];
    }

    /// Returns true if these threads know that all phases before this one are complete.
    fn are_up_to_date(&self, roles: Roles) -> bool {
        (self.behind[0] | self.behind[1]) & roles == 0
    }

    /// These threads learn that all phases before this one are complete.
    fn catch_up(&mut self, roles: Roles) {
        self.behind = self.behind.map(|behind| behind & !roles);
    }

    /// `mbarrier.init`. Nothing is known after more than `most` times threads have gathered.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn init(&mut self, count: i64, threads: i64, most: u8) -> Result<(), Fault> {
        if self.count != 0 {
            return Err(Fault::Initialized);
        }
        if count < 1 || count > MOST_ARRIVALS && count != threads {
            return Err(Fault::Count);
        }
        *self = Self {
            count,
            pending: count,
            is_new: true,
            is_unfenced: true,
            age: most,
            ..NOT_INITIALIZED
        };
        Ok(())
    }

    /// `mbarrier.inval`.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn inval(&mut self) -> Result<(), Fault> {
        self.is_initialized()?;
        if self.is_in_flight() || self.at_wait != 0 || !self.are_up_to_date(Roles::MAX) {
            return Err(Fault::InUse);
        }
        *self = NOT_INITIALIZED;
        Ok(())
    }

    /// Returns true if there may be loads in flight, or arrivals that nobody waits for.
    pub fn is_in_flight(&self) -> bool {
        self.pending != self.count || self.debt != 0 || self.has_loads
    }

    /// `mbarrier.expect_tx`.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn expect(&mut self, bytes: i64) -> Result<(), Fault> {
        self.is_initialized()?;
        if self.is_armed() {
            return Err(Fault::Armed);
        }
        if !(0..=MOST_BYTES).contains(&bytes) || self.debt + bytes > MOST_BYTES {
            return Err(Fault::TooManyBytes);
        }
        self.debt += bytes;
        Ok(())
    }

    /// A load that completes `bytes`.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn load(&mut self, bytes: i64) -> Result<(), Fault> {
        self.is_initialized()?;
        if self.is_unfenced {
            return Err(Fault::NotInitialized);
        }
        // Bytes that nobody expects could complete a phase while others are in flight.
        if self.is_armed() && self.debt < bytes {
            return Err(Fault::Unexpected);
        }
        if self.debt - bytes < -MOST_BYTES {
            return Err(Fault::TooManyBytes);
        }
        self.debt -= bytes;
        self.has_loads = true;
        Ok(())
    }

    /// `mbarrier.arrive` by so many `threads`. `gathered` says how often threads have gathered since those times that the thread that issues
    /// knows to be over.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn arrive(&mut self, by: Who, threads: i64, gathered: u8) -> Result<(), Fault> {
        self.is_initialized()?;
        if self.is_armed() {
            return Err(Fault::Armed);
        }
        match by {
            Who::Roles(_) if self.is_new => return Err(Fault::NotInitialized),
            // Who is too far ahead would arrive for those who are behind.
            Who::Roles(roles) if !self.are_up_to_date(roles) => return Err(Fault::TooEarly),
            Who::Roles(roles) => {
                // None of them is at an older wait once it has arrived.
                self.at_wait &= !roles;
                self.age = 0;
            }
            Who::Issuer => self.age = gathered,
        }
        if self.pending < threads {
            return Err(Fault::TooManyArrivals);
        }
        self.pending -= threads;
        if self.is_armed() && self.debt < 0 {
            return Err(Fault::Unexpected);
        }
        if self.is_armed() && self.at_wait != 0 {
            return Err(Fault::AtWait);
        }
        Ok(())
    }

    /// A wait for the phase that has `parity`, where there are `all` roles.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn wait(&mut self, parity: bool, by: Who, all: Roles) -> Result<Waited, Fault> {
        self.is_initialized()?;
        let roles = match by {
            Who::Roles(_) if self.is_new => return Err(Fault::NotInitialized),
            Who::Roles(roles) => roles,
            Who::Issuer => 0,
        };
        let is_last = parity != self.parity;
        match (self.is_armed(), is_last) {
            (true, true) => return Err(Fault::TooLate),
            (false, false) => return Err(Fault::Never),
            (true, false) if self.debt != 0 => return Err(Fault::Never),
            (true, false) if !self.are_up_to_date(roles) => return Err(Fault::TooEarly),
            (true, false) => self.advance(roles, all),
            // Those who know that the phase before the last one is complete don't take it for the last one.
            (false, true) if self.behind[1] & roles != 0 => return Err(Fault::TooEarly),
            (false, true) => self.catch_up(roles),
        }
        self.at_wait |= roles;
        self.gathering = self.gathering.map(|gathering| gathering & !roles);
        Ok(Waited {
            know: self.landed(roles),
            age: self.age,
        })
    }

    /// Those of `roles`, which know that all phases before this one are complete, who know that no load is in flight.
    fn landed(&self, roles: Roles) -> Roles {
        if self.has_loads { 0 } else { roles }
    }

    /// A barrier of all threads. Returns those of `all` that learn by it that loads have landed.
    pub fn barrier(&mut self, all: Roles) -> Roles {
        self.at_wait = 0;
        self.gathering = [0; MOST_GATHERINGS];
        self.is_new = false;
        let learn = (self.behind[0] | self.behind[1]) & all;
        self.catch_up(all);
        self.landed(learn)
    }

    /// How many times threads have gathered since the last time that the last phase, as it was armed, came after.
    #[must_use]
    pub fn age(&self) -> u8 {
        self.age
    }

    /// The same mbarrier, of another age.
    #[must_use]
    pub fn with_age(self, age: u8) -> Self {
        Self { age, ..self }
    }

    /// The account of a certificate; `None` if it is not initialized.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        (self.count != 0).then(|| Account {
            total: self.count.unsigned_abs(),
            parity: self.parity,
            arrivals: self.pending.unsigned_abs(),
            debt: self.debt,
            loaded: self.has_loads,
            fresh: self.is_new,
            at_wait: self.at_wait != 0,
        })
    }

    /// A fence after initializations.
    pub fn init_fence(&mut self) {
        self.is_unfenced = false;
    }

    /// Threads arrive where they gather.
    pub fn gather(&mut self, at: Gathering, roles: Roles) {
        if let Some(gathering) = self.gathering.get_mut(usize::from(at.0)) {
            *gathering |= self.at_wait & roles;
        }
    }

    /// The thread that issues has waited for those who gather.
    pub fn gathered(&mut self, at: Gathering) {
        if let Some(gathering) = self.gathering.get(usize::from(at.0)) {
            self.at_wait &= !gathering;
            let passed = *gathering;
            self.gathering = self.gathering.map(|gathering| gathering & !passed);
        }
    }

    /// Threads have gathered once more; more than `most` times are not told apart.
    pub fn grow_older(&mut self, most: u8) {
        self.age = self.age.saturating_add(1).min(most);
    }

    /// Threads learn that all but the last `ages` times they have gathered are over.
    pub fn learn(&mut self, ages: u8, roles: Roles, all: Roles) {
        if self.age < ages || self.count == 0 {
            return;
        }
        if self.is_armed() && self.debt == 0 {
            self.advance(roles, all);
        }
        if self.pending == self.count {
            self.catch_up(roles);
        }
    }
}
