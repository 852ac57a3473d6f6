//! Kernels of the simulated device: code for the interpreter, which `gpu-module-to-binary` makes with the target `#gpux.sim_target`.

use async_device::{
    Access, Accesses, Extent, Function, Kernel, LaunchSizes, Loader, Memory, Module, NoLoader,
};
use async_interpreter::adversary::Adversary;
use async_interpreter::code::{Code, Init};
use async_interpreter::embed::{Decoded, Outside, Running, checked};
use async_interpreter::serial;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

/// What loads them. Their asynchronous copies are late, early or random as the work of the device is.
pub struct Kernels(pub Adversary);

/// A module, which kernels that run keep.
struct Loaded {
    kernels: Vec<Code>,
    adversary: Adversary,
    variables: BTreeMap<String, Variable>,
}

/// A module, as the device has it.
struct Handed(Arc<Loaded>);

/// A kernel of a module, by its number.
struct Launchable(Arc<Loaded>, usize);

/// A launch.
struct Launched {
    /// Refers to the code of the module, so that it is dropped before.
    running: Option<Running<'static>>,
    module: Arc<Loaded>,
    kernel: usize,
}

/// A variable of a module, which its kernels share.
struct Variable {
    address: u64,
    layout: Layout,
}

impl Variable {
    /// A variable that begins with these bytes, and else with zeros; `None` if there is no room.
    fn new(init: &Init) -> Option<Self> {
        let (bytes, size) = match init {
            Init::Bytes(bytes) => (bytes.as_slice(), bytes.len()),
            Init::Unwritten(size) => (&[][..], *size),
            Init::Dynamic => (&[][..], 0),
        };
        let layout = Layout::from_size_align(size.max(1), 256).ok()?;
        // SAFETY: it has a byte or more.
        let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
        if pointer.is_null() {
            return None;
        }
        // SAFETY: there is room for them.
        unsafe { pointer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let address = pointer.expose_provenance() as u64;
        Some(Self { address, layout })
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        let pointer =
            std::ptr::with_exposed_provenance_mut(usize::try_from(self.address).unwrap_or_default());
        // SAFETY: it was allocated so.
        unsafe { std::alloc::dealloc(pointer, self.layout) };
    }
}

impl Loader for Kernels {
    fn load(&mut self, image: &[u8]) -> Result<Box<dyn Module>, String> {
        if !image.starts_with(serial::MAGIC) {
            return NoLoader.load(image);
        }
        let nothing = "no kernel of it runs, and its launches do nothing";
        let kernels = serial::read(image).map_err(|error| format!("{error}: {nothing}"))?;
        let mut variables = BTreeMap::new();
        for decl in kernels.iter().flat_map(|code| &code.global) {
            if !variables.contains_key(&decl.name) {
                let variable = Variable::new(&decl.init)
                    .ok_or_else(|| format!("there is no room for the variable '{}': {nothing}", decl.name))?;
                variables.insert(decl.name.clone(), variable);
            }
        }
        let loaded = Arc::new(Loaded {
            kernels,
            adversary: self.0.clone(),
            variables,
        });
        Ok(Box::new(Handed(loaded)))
    }
}

impl Module for Handed {
    fn function(&self, name: &str) -> Result<Box<dyn Function>, String> {
        let Some(kernel) = self.0.kernels.iter().position(|code| code.name == name) else {
            let names: Vec<&str> = self.0.kernels.iter().map(|code| code.name.as_str()).collect();
            return Err(format!(
                "there is no kernel '{name}' in the module: it has {}",
                if names.is_empty() {
                    "none".into()
                } else {
                    names.join(", ")
                }
            ));
        };
        Ok(Box::new(Launchable(Arc::clone(&self.0), kernel)))
    }
}

impl Loaded {
    fn name(&self, kernel: usize) -> String {
        let code = &self.kernels[kernel];
        format!("kernel '{}::{}'", code.module, code.name)
    }
}

impl Function for Launchable {
    fn launch(
        &self,
        sizes: &LaunchSizes,
        arguments: &[u64],
        memory: &dyn Memory,
        extent: Extent<'_>,
    ) -> Result<Box<dyn Kernel>, String> {
        let Self(module, kernel) = self;
        let code = &module.kernels[*kernel];
        // SAFETY: the code is in the module, which the launch keeps as long as what refers to it, and nobody changes it.
        let code: &'static Code = unsafe { &*std::ptr::from_ref(code) };
        let dimensions = [sizes.grid, sizes.block, sizes.cluster];
        let variables: Vec<u64> = code
            .global
            .iter()
            .map(|decl| {
                module
                    .variables
                    .get(&decl.name)
                    .map_or(0, |variable| variable.address)
            })
            .collect();
        let running = checked(code, dimensions, sizes.workgroup_bytes).and_then(|launch| {
            let decoded = Decoded::read(code, arguments, &|from, into| memory.read(from, into))?;
            let adversary = module.adversary.clone();
            Running::new(
                code,
                launch,
                adversary,
                decoded,
                &variables,
                &Reads(memory, extent),
            )
        });
        let running = running.map_err(|message| format!("{}: {message}", module.name(*kernel)))?;
        Ok(Box::new(Launched {
            running: Some(running),
            module: Arc::clone(module),
            kernel: *kernel,
        }))
    }
}

impl Kernel for Launched {
    fn step(&mut self, memory: &mut dyn Memory, accesses: &mut Accesses) -> Poll<Result<(), String>> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(Ok(()));
        };
        let ended = running.step(&mut Writes(memory));
        print(&running.take_printed());
        if !ended {
            return Poll::Pending;
        }
        running.each_access(|bytes, writes, is_atomic| {
            let access = match (writes, is_atomic) {
                (_, true) => Access::Atomic,
                (true, _) => Access::Write,
                _ => Access::Read,
            };
            accesses.add(access, bytes);
        });
        let result = self.running.take().map_or(Ok(()), Running::finish);
        Poll::Ready(result.map_err(|message| format!("{}: {message}", self.module.name(self.kernel))))
    }
}

/// Memory of the device, as the interpreter has it.
struct Reads<'a>(&'a dyn Memory, Extent<'a>);
struct Writes<'a>(&'a mut dyn Memory);

impl Outside for Reads<'_> {
    fn read(&self, from: u64, into: &mut [u8]) {
        self.0.read(from, into);
    }

    fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        (self.1)(bytes)
    }

    fn write(&mut self, _: u64, _: &[u8]) {}
}

impl Outside for Writes<'_> {
    fn read(&self, from: u64, into: &mut [u8]) {
        self.0.read(from, into);
    }

    fn write(&mut self, to: u64, bytes: &[u8]) {
        self.0.write(to, bytes);
    }
}

/// Prints by C's standard output, as the functions of MLIR's runner libraries do.
fn print(text: &str) {
    if text.is_empty() {
        return;
    }
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    // SAFETY: two strings.
    unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
}
