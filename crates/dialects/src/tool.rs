//! The drivers of the command line tools.

use crate::ffi;
use std::{
    env,
    ffi::{CString, OsString, c_char, c_int},
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

/// Runs `async-opt` with the arguments of this process. Register passes before.
#[must_use]
pub fn run_opt() -> ExitCode {
    run_on_large_stack(|argc, argv, stack_size| {
        // SAFETY: `argv` is what `main` would get.
        unsafe { ffi::asyncOptMlirOptMain(argc, argv, ffi::string_ref(VERSION), stack_size) }
    })
}

/// Runs `async-translate` with the arguments of this process.
#[must_use]
pub fn run_translate() -> ExitCode {
    run_on_large_stack(|argc, argv, stack_size| {
        // SAFETY: `argv` is what `main` would get.
        unsafe { ffi::asyncOptTranslateMain(argc, argv, ffi::string_ref(VERSION), stack_size) }
    })
}

/// Calls a C `main` on the largest stack that the system grants.
fn run_on_large_stack(main: fn(c_int, *mut *mut c_char, usize) -> c_int) -> ExitCode {
    for size in STACK_SIZES {
        let started = thread::Builder::new()
            .name("main".into())
            .stack_size(size)
            .spawn(move || {
                let arguments = c_arguments(env::args_os());
                // C's `argv` ends with a null, and `main` may write to it.
                let mut pointers: Vec<*mut c_char> = arguments.into_iter().map(CString::into_raw).collect();
                let argc =
                    c_int::try_from(pointers.len()).expect("the system limits how many arguments there are");
                pointers.push(ptr::null_mut());
                main(argc, pointers.as_mut_ptr(), size)
            });
        if let Ok(thread) = started {
            // A panic has already said what is wrong.
            let code = thread.join().unwrap_or(1);
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
    }
    eprintln!("cannot start a thread: the system grants no memory for its stack");
    ExitCode::FAILURE
}

/// Arguments as C wants them. No argument can hold a zero byte: the system hands them over as C strings.
fn c_arguments(arguments: impl Iterator<Item = OsString>) -> Vec<CString> {
    arguments
        .filter_map(|argument| CString::new(argument.into_vec()).ok())
        .collect()
}
