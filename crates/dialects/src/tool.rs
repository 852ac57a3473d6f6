//! The drivers of the command line tools.

use crate::ffi;
use async_mlir::ir::Op;
use async_mlir::pass::{PassError, run_on};
use mlir_sys::MlirOperation;
use std::{
    ffi::{CString, OsString, c_char, c_int, c_void},
    os::unix::ffi::OsStringExt,
    process::ExitCode,
    ptr, thread,
};

/// The stack that MLIR gets, in bytes; the address space is reserved, and the memory taken only when it is used.
///
/// MLIR recurses into what it parses: on the usual 8 MiB a few thousand nested regions end the process.
const STACK_SIZES: [usize; 3] = [1 << 30, 256 << 20, 64 << 20];

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of LLVM that this was built with, such as `22.1.8`.
#[must_use]
pub fn llvm_version() -> &'static str {
    // SAFETY: a string literal in C++.
    unsafe { ffi::str_from_raw(ffi::asyncOptLLVMVersion()) }
}

/// Runs `async-opt` with `arguments`, the first of which is the name of the program. Register passes before.
#[must_use]
pub fn run_opt(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_on_large_stack(arguments, |argc, argv, stack_size| {
        // SAFETY: `argv` is what `main` would get.
        unsafe { ffi::asyncOptMlirOptMain(argc, argv, ffi::string_ref(VERSION), stack_size) }
    })
}

/// How modules go between upstream's dialect `async` and ours, in a context that has upstream's. Operations of ours are not
/// registered there.
pub trait UpstreamAsync {
    /// Rewrites upstream's to ours.
    ///
    /// # Errors
    ///
    /// If something can't be expressed.
    fn import(module: Op<'_>) -> Result<(), PassError<'_>>;

    /// Rewrites ours to upstream's.
    ///
    /// # Errors
    ///
    /// If something can't be expressed.
    fn export(module: Op<'_>) -> Result<(), PassError<'_>>;
}

unsafe extern "C" fn import<U: UpstreamAsync>(module: MlirOperation) -> bool {
    // SAFETY: the module lives during the call.
    run_on("the import", unsafe { Op::from_raw(module) }, U::import)
}

/// Runs `async-translate` with `arguments`, the first of which is the name of the program.
#[must_use]
pub fn run_translate<U: UpstreamAsync>(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    unsafe extern "C" fn export<U: UpstreamAsync>(module: MlirOperation) -> bool {
        // SAFETY: the module lives during the call.
        run_on("the export", unsafe { Op::from_raw(module) }, U::export)
    }
    run_on_large_stack(arguments, |argc, argv, stack_size| {
        let version = ffi::string_ref(VERSION);
        let (import, export) = (Some(import::<U> as _), Some(export::<U> as _));
        // SAFETY: `argv` is what `main` would get, and two functions that take a live module.
        unsafe { ffi::asyncOptTranslateMain(argc, argv, version, stack_size, import, export) }
    })
}

/// Runs `async-lsp-server` with `arguments`, the first of which is the name of the program.
#[must_use]
pub fn run_lsp_server(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_on_large_stack(arguments, |argc, argv, stack_size| {
        // SAFETY: `argv` is what `main` would get.
        unsafe { ffi::asyncOptLspServerMain(argc, argv, ffi::string_ref(VERSION), stack_size) }
    })
}

/// Runs upstream's reducer with `arguments`, the first of which is the name of the program. Register passes before.
#[must_use]
pub fn run_reduce(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_on_large_stack(arguments, |argc, argv, stack_size| {
        // SAFETY: `argv` is what `main` would get.
        unsafe { ffi::asyncOptReduceMain(argc, argv, ffi::string_ref(VERSION), stack_size) }
    })
}

/// Parses the module in a file (`-` is standard input), which may be in upstream's `async`, runs passes such as `lower-affine` over it,
/// each with its options in braces, and calls `work` with it. Returns what `work` returns, or `None` where something went wrong before, which was printed.
///
/// Diagnostics that `work` emits are printed with the source that they point at.
pub fn with_module<U: UpstreamAsync, T: Send>(
    path: &str,
    passes: &[&str],
    work: impl FnOnce(Op<'_>) -> T + Send,
) -> Option<T> {
    /// What to call, until it was called; then what it returned.
    enum Work<F, T> {
        Open(F),
        Done(Option<T>),
    }
    unsafe extern "C" fn call<F: FnOnce(Op<'_>) -> T, T>(module: MlirOperation, data: *mut c_void) -> bool {
        // SAFETY: the pointer to `state` below.
        let state = unsafe { &mut *data.cast::<Work<F, T>>() };
        if let Work::Open(work) = std::mem::replace(state, Work::Done(None)) {
            // SAFETY: the module lives during the call.
            *state = Work::Done(Some(work(unsafe { Op::from_raw(module) })));
        }
        true
    }
    fn callback<F: FnOnce(Op<'_>) -> T, T>(
        _: &Work<F, T>,
    ) -> unsafe extern "C" fn(MlirOperation, *mut c_void) -> bool {
        call::<F, T>
    }
    on_large_stack(move |stack_size| {
        let mut state = Work::Open(work);
        let call = callback(&state);
        let passes: Vec<_> = passes.iter().map(|pass| ffi::string_ref(pass)).collect();
        // SAFETY: strings that live during the call, and a callback that gets the pointer to `state`.
        unsafe {
            ffi::asyncOptWithModule(
                ffi::string_ref(path),
                passes.len().cast_signed(),
                passes.as_ptr(),
                stack_size,
                Some(import::<U> as _),
                Some(call),
                (&raw mut state).cast(),
            );
        }
        match state {
            Work::Done(result) => result,
            Work::Open(_) => None,
        }
    })
    .flatten()
}

/// Parses the text of an operation of the same name as `other`, and puts it right before that, where what it refers to can be found.
///
/// # Errors
///
/// If it can't be parsed, or is not valid there.
pub fn parse_before<'c>(other: Op<'c>, text: &str) -> Result<Op<'c>, String> {
    let mut message = String::new();
    // Whatever stack there is, it is at least as large.
    let stack_size = STACK_SIZES[STACK_SIZES.len() - 1];
    // SAFETY: a live operation in a block, text that lives during the call, and a callback that gets the pointer to `message`.
    unsafe {
        let parsed = ffi::asyncOptParseBefore(
            other.to_raw(),
            ffi::string_ref(text),
            stack_size,
            Some(ffi::collect_text),
            (&raw mut message).cast(),
        );
        if parsed.ptr.is_null() {
            return Err(message);
        }
        Ok(Op::from_raw(parsed))
    }
}

/// Calls a C `main` on the largest stack that the system grants.
fn run_on_large_stack(
    arguments: impl IntoIterator<Item = OsString>,
    main: fn(c_int, *mut *mut c_char, usize) -> c_int,
) -> ExitCode {
    let arguments = c_arguments(arguments.into_iter());
    let code = on_large_stack(move |size| {
        // C's `argv` ends with a null, and `main` may write to it.
        let mut pointers: Vec<*mut c_char> = arguments.into_iter().map(CString::into_raw).collect();
        let argc = c_int::try_from(pointers.len()).expect("the system limits how many arguments there are");
        pointers.push(ptr::null_mut());
        main(argc, pointers.as_mut_ptr(), size)
    });
    ExitCode::from(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}

/// Calls `work` on the largest stack that the system grants, and tells it how large that is. `None` if it panicked,
/// which was printed, or if there is no stack at all.
fn on_large_stack<T: Send>(work: impl FnOnce(usize) -> T + Send) -> Option<T> {
    let mut work = Some(work);
    for size in STACK_SIZES {
        let result = thread::scope(|scope| {
            let builder = thread::Builder::new().name("main".into()).stack_size(size);
            let slot = &mut work;
            let started = builder.spawn_scoped(scope, move || slot.take().map(|work| work(size)));
            started.ok().map(thread::ScopedJoinHandle::join)
        });
        if let Some(joined) = result {
            // A panic has already said what is wrong.
            return joined.ok().flatten();
        }
    }
    eprintln!("cannot start a thread: the system grants no memory for its stack");
    None
}

/// Arguments as C wants them. No argument can hold a zero byte: the system hands them over as C strings.
fn c_arguments(arguments: impl Iterator<Item = OsString>) -> Vec<CString> {
    arguments
        .filter_map(|argument| CString::new(argument.into_vec()).ok())
        .collect()
}
