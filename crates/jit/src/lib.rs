//! Runs host code in this process: MLIR's execution engine compiles it, it calls [the runtime](asyncopt_rt), and its kernels run in
//! [the interpreter](async_sim), or on a GPU.
//!
//! - `lower`: what takes a module to the LLVM dialect.
//! - `link`: where the functions are that the module declares; `builtins`: those that LLVM calls by itself.
//! - `kernels`: which kernels there are; `launch`: runs one on memory of the host, `host`, by `turns` where kernels share memory.

mod bufferize;
mod builtins;
mod host;
mod kernels;
mod launch;
mod link;
mod lower;
mod turns;

use self::kernels::Kernels;
use self::link::Libraries;
use self::lower::Returns;
pub use self::lower::run as run_passes;
use async_dialects::engine::Engine;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::transmute;

/// An error that was printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported;

/// How a program is compiled and run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The function to call.
    pub entry: String,
    /// LLVM's level of optimization, from 0 to 3.
    pub opt_level: u8,
    /// Workers of the runtime; else what the environment says.
    pub threads: Option<u16>,
    /// Where the runtime writes its trace.
    pub trace: Option<String>,
    /// Libraries that the program calls functions of.
    pub shared_libs: Vec<String>,
}

/// Compiles a module that was parsed from `file`, and calls its entry. Returns the exit code: 0, or the low 8 bits of what the entry
/// returns, without the status of `on-error=status`. The module is not what it was afterwards.
///
/// The program does as it likes: it may read and write any memory, and end the process. It aborts where a task has failed that it awaits.
///
/// # Errors
///
/// Where the module can't be compiled, which diagnostics at its operations say, where its entry returns the status of an error, and where the
/// simulated device has found races or the like.
pub fn run(module: Op<'_>, file: &str, options: &Options) -> Result<u8, Reported> {
    let libraries = Libraries::open(&options.shared_libs)?;
    let returns = lower::check_entry(module, &options.entry)?;
    bufferize::bufferize(module)?;
    let chip = asyncopt_rt::device::chip().map_err(|message| {
        eprintln!("async-opt run: {message}");
        Reported
    })?;
    let kernels = match chip {
        Some(chip) => {
            kernels::compile_for(&chip, module)?;
            None
        }
        None => Some(Kernels::read(module, file)?),
    };
    lower::to_llvm(module)?;
    let symbols = libraries.resolve(module)?;
    let fails = |message: String| {
        Diagnostic::error(module.location(), format!("LLVM can't compile this: {message}")).emit();
        Reported
    };
    let engine = Engine::compile(module, options.opt_level, &options.shared_libs, &symbols).map_err(fails)?;
    let main = Entry::of(&engine, &options.entry, returns).map_err(fails)?;
    start_runtime(options);
    launch::register(kernels.as_ref());
    engine.initialize();
    // SAFETY: what it does is up to whoever has it run.
    let code = unsafe { main.call() };
    // Tasks may run until here, and their code ends with the engine.
    asyncopt_rt::interface::asyncopt_rt_shutdown();
    launch::register(None);
    if asyncopt_rt::device::findings() > 0 {
        return Err(Reported);
    }
    code.map(|code| code.to_le_bytes()[0])
}

/// A compiled function that can be called.
struct Entry {
    address: *const (),
    returns: Returns,
}

impl Entry {
    fn of(engine: &Engine, name: &str, returns: Returns) -> Result<Self, String> {
        // How two values are returned is LLVM's own: MLIR's engine has a function that stores them.
        let address = match returns {
            Returns::ExitCodeAndStatus => engine.lookup(&format!("_mlir_{name}")),
            _ => engine.lookup(name),
        };
        address.map(|address| Self { address, returns })
    }

    /// Calls the function, and returns the exit code; or prints the error that it tells of.
    ///
    /// # Safety
    ///
    /// The engine is alive, and what the program does is safe.
    unsafe fn call(&self) -> Result<i32, Reported> {
        // SAFETY: the module says that it is such a function.
        let [code, status] = unsafe {
            match self.returns {
                Returns::Nothing => {
                    transmute::<*const (), extern "C" fn()>(self.address)();
                    [0, 0]
                }
                Returns::ExitCode => [transmute::<*const (), extern "C" fn() -> i32>(self.address)(), 0],
                Returns::Status => [0, transmute::<*const (), extern "C" fn() -> i32>(self.address)()],
                Returns::ExitCodeAndStatus => {
                    let mut results = [0i32; 2];
                    let mut pointers = [(&raw mut results).cast::<c_void>()];
                    let packed = transmute::<*const (), extern "C" fn(*mut *mut c_void)>(self.address);
                    packed(pointers.as_mut_ptr());
                    results
                }
            }
        };
        if status == 0 {
            return Ok(code);
        }
        // SAFETY: they are null or strings until the next error.
        let text = |text: *const c_char| unsafe {
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        };
        let location = text(asyncopt_rt::interface::asyncopt_rt_last_error_location());
        let message = text(asyncopt_rt::interface::asyncopt_rt_last_error_message());
        let location = location.map_or(String::new(), |place| format!("{place}: "));
        // What the program has printed comes first.
        // SAFETY: a null pointer stands for all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        eprintln!("{location}error: {}", message.as_deref().unwrap_or("failed"));
        Err(Reported)
    }
}

fn start_runtime(options: &Options) {
    if let Some(threads) = options.threads {
        asyncopt_rt::interface::asyncopt_rt_set_num_threads(threads.into());
    }
    if let Some(path) = &options.trace {
        // No argument of a program has a zero byte.
        let path = CString::new(path.as_str()).unwrap_or_default();
        // SAFETY: it is a string.
        unsafe { asyncopt_rt::interface::asyncopt_rt_trace(path.as_ptr()) };
    }
}
