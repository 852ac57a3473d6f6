//! What is wrong with a program.

use std::fmt;

/// A call of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// What was called.
    pub name: &'static str,
    /// Its number, counted from 1 over all calls.
    pub number: u64,
    /// Where the program makes it; empty if nobody has said.
    pub place: &'static str,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (call {})", self.name, self.number)
    }
}

/// What kind of mistake it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A read and an earlier write of the same bytes that nothing orders.
    ReadAfterWrite,
    /// A write and an earlier read.
    WriteAfterRead,
    /// Two writes.
    WriteAfterWrite,
    /// Memory is freed, and nothing says that who accesses it is done.
    FreeInUse,
    /// Memory is accessed after it was freed.
    UseAfterFree,
    /// Memory is freed twice.
    DoubleFree,
    /// What is freed or unregistered was never allocated or registered.
    UnknownPointer,
    /// Bytes outside of an allocation.
    OutOfBounds,
    /// A copy whose source and destination overlap.
    Overlap,
    /// Memory is registered that is registered already.
    DoubleRegister,
    /// A null pointer where a handle is due.
    NullHandle,
    /// A number that no call has returned as a handle.
    NotAHandle,
    /// A handle of one kind where another is due.
    WrongHandle,
    /// A handle whose object was destroyed.
    UseAfterDestroy,
    /// An object is destroyed again.
    DoubleDestroy,
    /// A wait for an event that nobody has recorded.
    NeverRecorded,
    /// A module or kernel that is not there.
    NoKernel,
    /// A kernel stopped with an error.
    KernelFailed,
    /// Kernels that run and run.
    NoEnd,
    /// Work that nobody has waited for when the program ended.
    NeverAwaited,
    /// A stream, an event, a module or an allocation that nobody has freed when the program ended.
    Leak,
}

impl Kind {
    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadAfterWrite => "RAW race",
            Self::WriteAfterRead => "WAR race",
            Self::WriteAfterWrite => "WAW race",
            Self::FreeInUse => "free in use",
            Self::UseAfterFree => "use after free",
            Self::DoubleFree => "double free",
            Self::UnknownPointer => "unknown pointer",
            Self::OutOfBounds => "out of bounds",
            Self::Overlap => "overlapping copy",
            Self::DoubleRegister => "double registration",
            Self::NullHandle => "null handle",
            Self::NotAHandle => "not a handle",
            Self::WrongHandle => "wrong handle",
            Self::UseAfterDestroy => "use after destroy",
            Self::DoubleDestroy => "double destroy",
            Self::NeverRecorded => "never recorded",
            Self::NoKernel => "no kernel",
            Self::KernelFailed => "kernel failed",
            Self::NoEnd => "no end",
            Self::NeverAwaited => "never awaited",
            Self::Leak => "leak",
        }
    }
}

/// Something that is wrong with the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What kind of mistake.
    pub kind: Kind,
    /// The call that is wrong.
    pub at: Call,
    /// The call that it collides with, or that made or destroyed the object.
    pub against: Option<Call>,
    /// What is wrong, in words.
    pub message: String,
    /// How many more there are of the same kind, between calls of the same names and places.
    pub repeated: u64,
}

impl Finding {
    /// Whether another one only repeats it.
    fn is_like(&self, other: &Self) -> bool {
        let names = |finding: &Self| {
            (
                finding.kind,
                (finding.at.name, finding.at.place),
                finding.against.map(|call| (call.name, call.place)),
            )
        };
        // What kernels do wrong has a place of its own, in their text.
        let same_kernel = self.kind != Kind::KernelFailed || self.message == other.message;
        same_kernel && names(self) == names(other)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.at, self.kind.name(), self.message)
    }
}

/// All that was found: the first of each kind and pair of calls, and how often.
#[derive(Clone, Default, Debug)]
pub(crate) struct Findings {
    pub all: Vec<Finding>,
    /// How many of them have been taken as news.
    pub told: usize,
}

impl Findings {
    pub fn add(&mut self, kind: Kind, at: Call, against: Option<Call>, message: String) {
        let new = Finding {
            kind,
            at,
            against,
            message,
            repeated: 0,
        };
        match self.all.iter_mut().find(|known| known.is_like(&new)) {
            Some(known) => known.repeated += 1,
            None => self.all.push(new),
        }
    }
}

/// Why a call has not done what it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The reason, for the author of the program.
    pub message: String,
    /// The call that it collides with, or that made or destroyed what is used.
    pub against: Option<Call>,
    /// True if the program is wrong, which is among the findings; false if the device can't.
    pub is_finding: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
