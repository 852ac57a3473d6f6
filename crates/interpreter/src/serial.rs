//! Kernels as bytes, which a process without MLIR reads and runs.
//!
//! **Format.** A line of text with the version, the length and a hash of what follows, and then that, in the format of `postcard`. The
//! code is as this version of the interpreter has it, so that no other one reads it. Places are kept once for all instructions that have them.
//!
//! **Condition.** Kernels of a device: host code has more than can be kept.
//!
//! **Refusals.** What is damaged, cut or of another version, and code in which something refers to what is not there (`check.rs`). The hash
//! finds damage; the checks are there so that the machine can rely on what is read, whoever has made it.
//!
//! Linear in the number of bytes.

mod check;
mod walk;

use crate::code::{BufferDecl, Code, Instr, Op, OpLocation, Param, Reg};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use thiserror::Error;

/// What all such bytes begin with.
pub const MAGIC: &[u8] = b"async-opt kernels ";

/// The version that is written and read.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why kernels can't be written or read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SerialError {
    /// It is something else.
    #[error("this is no code of async-opt's interpreter")]
    Other,
    /// It is of another version.
    #[error(
        "this is code for version {0} of async-opt, and this is version {VERSION}: compile the kernels with the version that runs them"
    )]
    Version(String),
    /// It is not what was written.
    #[error("the code is damaged: {0}")]
    Damaged(String),
    /// It can't be written.
    #[error("this can't be kept as code for the interpreter: {0}")]
    Unknown(String),
}

/// Kernels on their way.
#[derive(Serialize, Deserialize)]
struct Module<'a> {
    places: Vec<OpLocation>,
    nests: Vec<Arc<[u32]>>,
    kernels: Vec<Kernel<'a>>,
}

/// A kernel, but for what only host code has. How many registers it has follows from those that it uses.
#[derive(Serialize, Deserialize)]
struct Kernel<'a> {
    name: Cow<'a, str>,
    module: Cow<'a, str>,
    instrs: Vec<Step<'a>>,
    params: Cow<'a, [Param]>,
    workgroup: Cow<'a, [BufferDecl]>,
    global: Cow<'a, [BufferDecl]>,
    block: Option<[u32; 3]>,
    grid: Option<[u32; 3]>,
    dynamic_workgroup: Option<usize>,
    queues: Cow<'a, [Arc<str>]>,
    loops: Cow<'a, [OpLocation]>,
}

/// An instruction, with its places in the tables of the module.
#[derive(Serialize, Deserialize)]
struct Step<'a> {
    op: Cow<'a, Op>,
    place: u32,
    nest: u32,
}

/// Numbers values by the order in which they come.
struct Table<T>(Vec<T>, HashMap<T, u32>);

impl<T: Clone + Eq + Hash> Table<T> {
    fn new() -> Self {
        Self(Vec::new(), HashMap::new())
    }

    fn number(&mut self, value: &T) -> u32 {
        if let Some(known) = self.1.get(value) {
            return *known;
        }
        let number = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(value.clone());
        self.1.insert(value.clone(), number);
        number
    }
}

/// Writes kernels.
///
/// # Errors
///
/// If one of them is host code.
pub fn write(kernels: &[Code]) -> Result<Vec<u8>, SerialError> {
    let (mut places, mut nests) = (Table::new(), Table::new());
    let mut written = Vec::with_capacity(kernels.len());
    for code in kernels {
        if code.is_host || code.is_program || !code.kernels.is_empty() {
            return Err(SerialError::Unknown(format!("'{}' is host code", code.name)));
        }
        let instrs = code.instrs.iter().map(|instr| Step {
            op: Cow::Borrowed(&instr.op),
            place: places.number(&instr.place),
            nest: nests.number(&instr.loops),
        });
        written.push(Kernel {
            name: Cow::Borrowed(&code.name),
            module: Cow::Borrowed(&code.module),
            instrs: instrs.collect(),
            params: Cow::Borrowed(&code.params),
            workgroup: Cow::Borrowed(&code.workgroup),
            global: Cow::Borrowed(&code.global),
            block: code.block,
            grid: code.grid,
            dynamic_workgroup: code.dynamic_workgroup,
            queues: Cow::Borrowed(&code.queues),
            loops: Cow::Borrowed(&code.loops),
        });
    }
    let module = Module {
        places: places.0,
        nests: nests.0,
        kernels: written,
    };
    let payload = postcard::to_allocvec(&module).map_err(|error| SerialError::Unknown(error.to_string()))?;
    Ok(framed(&payload))
}

/// The bytes with what comes before them.
fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(VERSION.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&hash(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads kernels.
///
/// # Errors
///
/// If the bytes are not what [`write()`] of this version has made.
pub fn read(bytes: &[u8]) -> Result<Vec<Code>, SerialError> {
    let payload = payload(bytes)?;
    let (module, rest) = postcard::take_from_bytes::<Module>(payload)
        .map_err(|error| SerialError::Damaged(error.to_string()))?;
    if !rest.is_empty() {
        return Err(damaged("something follows its end"));
    }
    let mut codes = Vec::with_capacity(module.kernels.len());
    for kernel in module.kernels {
        codes.push(code(kernel, &module.places, &module.nests)?);
    }
    Ok(codes)
}

/// What is between the header and the end.
fn payload(bytes: &[u8]) -> Result<&[u8], SerialError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(SerialError::Other)?;
    let end = rest.iter().take(64).position(|&byte| byte == b'\n');
    let end = end.ok_or_else(|| damaged("its first line does not end"))?;
    let (version, rest) = (&rest[..end], &rest[end + 1..]);
    if version != VERSION.as_bytes() {
        return Err(SerialError::Version(
            String::from_utf8_lossy(version).into_owned(),
        ));
    }
    let cut = || damaged("it is cut off");
    let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (expected, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let payload = rest.get(..length).ok_or_else(cut)?;
    if rest.len() > length {
        return Err(damaged("something follows its end"));
    }
    if hash(payload) != u64::from_le_bytes(*expected) {
        return Err(damaged("its hash is not that of what was written"));
    }
    Ok(payload)
}

fn code(kernel: Kernel<'_>, places: &[OpLocation], nests: &[Arc<[u32]>]) -> Result<Code, SerialError> {
    let mut instrs = Vec::with_capacity(kernel.instrs.len());
    for step in kernel.instrs {
        let place = places.get(step.place as usize);
        let loops = nests.get(step.nest as usize);
        let (Some(place), Some(loops)) = (place, loops) else {
            return Err(damaged("an instruction has no place"));
        };
        instrs.push(Instr {
            op: step.op.into_owned(),
            place: place.clone(),
            loops: Arc::clone(loops),
        });
    }
    let mut code = Code {
        name: kernel.name.into_owned(),
        module: kernel.module.into_owned(),
        instrs,
        params: kernel.params.into_owned(),
        workgroup: kernel.workgroup.into_owned(),
        global: kernel.global.into_owned(),
        block: kernel.block,
        grid: kernel.grid,
        dynamic_workgroup: kernel.dynamic_workgroup,
        queues: kernel.queues.into_owned(),
        loops: kernel.loops.into_owned(),
        ..Code::default()
    };
    code.regs = check::code(&code)?;
    Ok(code)
}

fn damaged(what: impl Into<String>) -> SerialError {
    SerialError::Damaged(what.into())
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo), which any one byte that is changed changes.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The highest number of a register, and how many are named.
#[derive(Clone, Copy, Default)]
struct Registers {
    count: u32,
    named: u32,
}

impl Registers {
    fn note(&mut self, reg: Reg) {
        self.count = self.count.max(reg.0.saturating_add(1));
        self.named = self.named.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
