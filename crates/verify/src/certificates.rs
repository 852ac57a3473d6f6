//! Certificates in files: one JSON object a line for each function, with what its numbers mean, and the function as it was checked.
//!
//! A pass writes them while tokens are still there. Long after these are gone, and in another process,
//!
//! 1. the function of the certificate, which has its tokens, is parsed beside the kernel's;
//! 2. the certificate has to hold for it, and to be the one that it has;
//! 3. the kernel's function has to be the same without what the pass has taken away ([`compare()`]).

pub mod compare;

use crate::{groups, mbarriers};
use async_dialects::completion::Completion;
use async_dialects::tool::parse_before;
use async_mlir::ir::{Op, Text, Value, Walk};
use compare::Difference;
pub use compare::{Erased, compare};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the format that is written and read.
pub(crate) const VERSION: u32 = 1;

/// The flag of the pass that writes certificates of mbarriers.
const OF_MBARRIERS: &str = "gpux-tokens-to-mbarriers";

/// The flags of the passes that write certificates of groups.
const OF_GROUPS: [&str; 2] = ["gpux-tokens-to-groups", OF_NVGPU];

/// The one of them whose tokens and waits are those of `nvgpu`.
pub(crate) const OF_NVGPU: &str = "nvgpu-exact-waits";

/// A certificate of a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// Of groups.
    Groups(groups::Record),
    /// Of mbarriers.
    Mbarriers(mbarriers::Record),
}

/// The part that all certificates have.
#[derive(Deserialize)]
struct Kind {
    pass: String,
}

impl Record {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// If it is no certificate of a kind that is known.
    pub fn parse(line: &str) -> Result<Self, serde_json::Error> {
        let Kind { pass } = serde_json::from_str(line)?;
        if pass == OF_MBARRIERS {
            serde_json::from_str(line).map(Self::Mbarriers)
        } else if OF_GROUPS.contains(&pass.as_str()) {
            serde_json::from_str(line).map(Self::Groups)
        } else {
            let message = format!("there are none of the pass '{pass}'");
            Err(serde::de::Error::custom(message))
        }
    }

    /// The line that is written.
    ///
    /// # Errors
    ///
    /// None that is known of.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }

    fn head(&self) -> (u32, &str, &str, &str) {
        match self {
            Self::Groups(groups::Record {
                version,
                pass,
                function,
                ir,
                ..
            })
            | Self::Mbarriers(mbarriers::Record {
                version,
                pass,
                function,
                ir,
                ..
            }) => (*version, pass, function, ir),
        }
    }

    /// The symbols that lead to the function; see [`path_of`].
    #[must_use]
    pub fn function(&self) -> &str {
        self.head().2
    }

    /// The subject: `groups` or `mbarriers`.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Groups(_) => Subject::Groups,
            Self::Mbarriers(_) => Subject::Mbarriers,
        }
    }

    /// Checks that it is a certificate of `function`, as a pass has written it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn recheck<'c>(&self, function: Op<'c>) -> Result<Verified, Fault<'c>> {
        let (version, _, _, ir) = self.head();
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        let with_tokens = parse_before(function, ir).map_err(Fault::Ir)?;
        let result = match self {
            Self::Groups(record) => groups::recheck(record, with_tokens, function),
            Self::Mbarriers(record) => mbarriers::recheck(record, with_tokens, function),
        };
        with_tokens.erase();
        result
    }
}

/// The subject of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// Groups that operations of queues are committed to.
    Groups,
    /// Mbarriers that loads complete on.
    Mbarriers,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Groups => "groups",
            Self::Mbarriers => "mbarriers",
        })
    }
}

/// The value that a token is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenName {
    /// Its number.
    pub token: u32,
    /// The value of the function, such as `%3`.
    pub value: String,
}

/// The names of `tokens`, each with its number, in the order of these.
pub(crate) fn token_names<'c>(
    tokens: impl Iterator<Item = (u32, Value<'c>)>,
    text: &Text<'c>,
) -> Vec<TokenName> {
    let names = tokens.map(|(token, value)| TokenName {
        token,
        value: text.name_of(value),
    });
    let mut names: Vec<TokenName> = names.collect();
    names.sort_by_key(|name| name.token);
    names
}

/// A reason not to believe a certificate.
#[derive(Clone, Debug)]
pub enum Fault<'c> {
    /// It is of a version that is not known here.
    Version(u32),
    /// The function of the certificate can't be parsed, or is not valid beside the kernel's.
    Ir(String),
    /// It does not hold.
    Refused(String),
    /// It is not the one that the function has.
    Inexact(String),
    /// It says that its numbers mean something else than they do: of these.
    Names(&'static str),
    /// The kernel's function is another.
    Differs(Difference<'c>),
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "is of version {version}, which is not known here"),
            Self::Ir(message) => write!(f, "has an 'ir' that is not valid: {message}"),
            Self::Refused(refusal) => write!(f, "does not hold: {refusal}"),
            Self::Inexact(inexact) => write!(f, "is not that of its 'ir': {inexact}"),
            Self::Names(what) => write!(f, "names other {what} than its 'ir' has"),
            Self::Differs(difference) => f.write_str(&difference.message),
        }
    }
}

/// How much was verified of a function.
#[derive(Clone, Copy, Debug)]
pub struct Verified {
    /// The awaits that are reached only when all is complete.
    pub awaits: usize,
    /// The nodes of the certificate.
    pub nodes: usize,
}

/// The symbols that lead to `function`, such as `@kernels::@k`. Modules without a name have no part in it.
#[must_use]
pub fn path_of(function: Op<'_>) -> String {
    let mut names: Vec<String> = std::iter::once(function)
        .chain(function.ancestors())
        .filter_map(|op| Some(format!("@{}", op.str_attr("sym_name")?)))
        .collect();
    names.reverse();
    names.join("::")
}

/// An operation of a queue in `function` itself, which needs a certificate of groups.
#[must_use]
pub fn operation_of_queue(function: Op<'_>) -> Option<Op<'_>> {
    let is_of_queue = |op| Completion::of(op).is_some_and(|completion| completion.queue.is_some());
    find_own(function, &mut |op| is_of_queue(op).then_some(op))
}

/// The operations of `function` itself that `is_one`.
pub(crate) fn all_own<'c>(function: Op<'c>, is_one: &dyn Fn(Op<'c>) -> bool) -> Vec<Op<'c>> {
    let mut found = Vec::new();
    find_own::<()>(function, &mut |op| {
        if is_one(op) {
            found.push(op);
        }
        None
    });
    found
}

/// The first of what `look` finds in `function` itself, but not in functions in it.
fn find_own<'c, T>(function: Op<'c>, look: &mut dyn FnMut(Op<'c>) -> Option<T>) -> Option<T> {
    let mut found = None;
    function.walk(|op| {
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        found = look(op);
        if found.is_some() {
            Walk::Stop
        } else {
            Walk::Advance
        }
    });
    found
}
