//! Handles with types. None is used twice, so that a use of what was destroyed is seen.

use crate::findings::{Call, Kind};
use std::collections::HashMap;
use std::fmt;

/// A stream, an event, a module or a function of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Handle(pub u64);

impl Handle {
    /// Where a stream is due, CUDA's default stream; otherwise nothing.
    pub const NULL: Self = Self(0);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Stream,
    Event,
    Module,
    Function,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "a stream",
            Self::Event => "an event",
            Self::Module => "a module",
            Self::Function => "a kernel",
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Object {
    what: What,
    made: Call,
    destroyed: Option<Call>,
}

/// A handle is not what it should be.
#[derive(Clone, Debug)]
pub struct Misuse {
    pub kind: Kind,
    pub against: Option<Call>,
    pub message: String,
}

/// All handles that there ever were.
#[derive(Clone, Default, Debug)]
pub struct Handles(HashMap<Handle, Object>);

/// No valid address on any usual machine, so that whoever reads there crashes.
const FIRST: u64 = 0xA500_0000_0000_0000;

impl Handles {
    pub fn make(&mut self, what: What, made: Call) -> Handle {
        let handle = Handle(FIRST + 16 * (self.0.len() as u64 + 1));
        let object = Object {
            what,
            made,
            destroyed: None,
        };
        self.0.insert(handle, object);
        handle
    }

    /// Checks that `handle` is `what`, and alive.
    pub fn check(&self, handle: Handle, what: What) -> Result<(), Misuse> {
        let misuse = |kind, against, message| {
            Err(Misuse {
                kind,
                against,
                message,
            })
        };
        let Some(object) = self.0.get(&handle) else {
            return match handle {
                Handle::NULL => misuse(
                    Kind::NullHandle,
                    None,
                    format!("null is given where {what} is due"),
                ),
                _ => misuse(
                    Kind::NotAHandle,
                    None,
                    format!("what is given where {what} is due was never made by any call"),
                ),
            };
        };
        let Object { made, .. } = *object;
        if object.what != what {
            let given = object.what;
            let message = format!("{given} is given where {what} is due; {made} has made it");
            return misuse(Kind::WrongHandle, Some(made), message);
        }
        match object.destroyed {
            Some(by) => misuse(
                Kind::UseAfterDestroy,
                Some(by),
                format!("uses {what} that {by} has destroyed; {made} had made it"),
            ),
            None => Ok(()),
        }
    }

    /// Destroys `handle`, if it is `what` and alive.
    pub fn destroy(&mut self, handle: Handle, what: What, by: Call) -> Result<(), Misuse> {
        self.check(handle, what).map_err(|misuse| match misuse.kind {
            Kind::UseAfterDestroy => Misuse {
                kind: Kind::DoubleDestroy,
                message: misuse.message.replacen("uses", "destroys", 1),
                ..misuse
            },
            _ => misuse,
        })?;
        if let Some(object) = self.0.get_mut(&handle) {
            object.destroyed = Some(by);
        }
        Ok(())
    }

    /// What is `what` and still alive, in the order in which it was made.
    pub fn alive(&self, what: What) -> Vec<Call> {
        let alive = self
            .0
            .values()
            .filter(|object| object.what == what && object.destroyed.is_none());
        let mut made: Vec<Call> = alive.map(|object| object.made).collect();
        made.sort_by_key(|call| call.number);
        made
    }
}
