//! Kernels, which the embedding gives: the device decides when they run.

use crate::memory::Memory;
use std::ops::Range;
use std::task::Poll;

/// A launch that runs step by step, so that two that wait for each other both get ahead.
pub trait Kernel: Send {
    /// Runs on for a while, not for long: another kernel may have to write what this one looks at. Notes what it accesses.
    ///
    /// # Errors
    ///
    /// Why the kernel stopped, with its place; that ends it.
    fn step(&mut self, memory: &mut dyn Memory, accesses: &mut Accesses) -> Poll<Result<(), String>>;
}

/// How a kernel accesses bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It reads them.
    Read,
    /// It writes them.
    Write,
    /// It reads and perhaps writes them atomically. Atomic accesses don't race with each other, and order nothing.
    Atomic,
}

/// What a step of a kernel has accessed, as addresses.
#[derive(Clone, Default, Debug)]
pub struct Accesses(pub(crate) Vec<(Access, Range<u64>)>);

impl Accesses {
    /// Notes an access.
    pub fn add(&mut self, access: Access, bytes: Range<u64>) {
        if !bytes.is_empty() {
            self.0.push((access, bytes));
        }
    }
}

/// Sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSizes {
    /// Blocks.
    pub grid: [i64; 3],
    /// Threads of a block.
    pub block: [i64; 3],
    /// Blocks of a cluster.
    pub cluster: [i64; 3],
    /// Bytes of dynamic workgroup memory.
    pub workgroup_bytes: i64,
}

/// What can load modules.
pub trait Loader: Send {
    /// Loads a module from what the program has for it. If the size is not known, `image` has nothing after its first null byte.
    ///
    /// # Errors
    ///
    /// What is given, and what would be loaded.
    fn load(&mut self, image: &[u8]) -> Result<Box<dyn Module>, String>;
}

/// A module that is loaded.
pub trait Module: Send {
    /// The kernel of a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn function(&self, name: &str) -> Result<Box<dyn Function>, String>;
}

/// A kernel of a module.
pub trait Function: Send {
    /// Makes a launch, which the device runs later. `arguments` are the addresses of the arguments' values, which are gone afterwards.
    /// `extent` says where that ends which is there of some bytes ([`crate::Device::extent`]).
    ///
    /// # Errors
    ///
    /// If sizes or arguments don't fit.
    fn launch(
        &self,
        sizes: &LaunchSizes,
        arguments: &[u64],
        memory: &dyn Memory,
        extent: Extent<'_>,
    ) -> Result<Box<dyn Kernel>, String>;
}

/// Where that ends which is there of some bytes, or that they were freed.
pub type Extent<'a> = &'a dyn Fn(&Range<u64>) -> Result<u64, String>;

/// Nothing can be loaded.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&mut self, image: &[u8]) -> Result<Box<dyn Module>, String> {
        Err(format!(
            "the module is {}, and nothing here runs that: no kernel of it runs, and its launches do nothing",
            format_of(image)
        ))
    }
}

/// What a module looks like.
fn format_of(image: &[u8]) -> &'static str {
    // Of an ELF header, byte 18 and 19 are the machine: 190 is CUDA's.
    const ELF: &[u8] = b"\x7fELF";
    const FATBIN: &[u8] = &0xBA55_ED50_u32.to_le_bytes();
    let text = String::from_utf8_lossy(&image[..image.len().min(4096)]);
    match image {
        [] => "empty",
        image if image.starts_with(ELF) => "a cubin",
        image if image.starts_with(FATBIN) => "a fat binary",
        _ if text.lines().any(|line| line.trim_start().starts_with(".version")) => "PTX",
        _ => "of an unknown format",
    }
}
