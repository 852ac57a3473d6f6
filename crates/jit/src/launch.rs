//! Runs kernels in the interpreter, as the runtime's launcher of its host device.
//!
//! **Effect.** The kernel has run as `async-sim` runs it, with asynchronous copies as late as they may be, and the bytes that it has
//! changed are in the host's memory.
//!
//! Kernels that access memory atomically run by turns, so that they see what others have written that run at the same time.
//!
//! **Refusals.** What the interpreter finds wrong, such as a race, is the error of the launch, and then nothing is written, but for what those
//! kernels have written in earlier turns.

use crate::host::Host;
use crate::kernels::Kernels;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::embed::{self, Decoded, Outside, Running};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::show::{self, Names};
use asyncopt_rt::device::{Access, LaunchSizes, MayWait, device, note_access};
use asyncopt_rt::interface::asyncopt_rt_num_threads;
use asyncopt_rt::memref::printString;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// After how many turns a kernel may well wait for another one.
const PATIENCE: u32 = 8;

/// Has the runtime launch these kernels, which live until it is called with none.
pub fn register(kernels: Option<&Kernels>) {
    let context = kernels.map_or(ptr::null_mut(), |kernels| {
        ptr::from_ref(kernels).cast_mut().cast()
    });
    device(0).set_launcher(kernels.map(|_| launch as _), context);
}

/// What the runtime calls.
unsafe extern "C" fn launch(
    context: *mut c_void,
    kernel: *const c_char,
    sizes: *const LaunchSizes,
    arguments: *const *mut c_void,
    num_arguments: i64,
    message: *mut c_char,
    capacity: i64,
) -> i32 {
    // SAFETY: it is what `register` was given, the name is a string, and the sizes are there.
    let (kernels, name, sizes) = unsafe { (&*context.cast::<Kernels>(), CStr::from_ptr(kernel), &*sizes) };
    let arguments = match usize::try_from(num_arguments) {
        Ok(count) if count > 0 => {
            // SAFETY: there are that many.
            unsafe { std::slice::from_raw_parts(arguments, count) }
        }
        _ => &[],
    };
    let name = name.to_string_lossy();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let code = kernels.get(&name)?;
        // SAFETY: they are those of the kernel.
        unsafe { run(kernels, code, sizes, arguments) }
            .map_err(|message| format!("kernel '{name}': {message}"))
    }));
    let text = match result {
        Ok(Ok(())) => return 0,
        Ok(Err(text)) => text,
        Err(_) => format!("kernel '{name}': internal error of the interpreter (this is a bug in async-opt)"),
    };
    let room = usize::try_from(capacity).unwrap_or(0).saturating_sub(1);
    let mut length = text.trim_end().len().min(room);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: there is room for the capacity.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), message.cast(), length);
        message.add(length).write(0);
    }
    1
}

/// Runs a kernel on memory of the host.
///
/// # Safety
///
/// The arguments are those of the kernel.
unsafe fn run(
    kernels: &Kernels,
    code: &Code,
    sizes: &LaunchSizes,
    arguments: &[*mut c_void],
) -> Result<(), String> {
    let dimensions = [sizes.grid, sizes.block, sizes.cluster];
    let launch = embed::checked(code, dimensions, sizes.workgroup_bytes)?;
    let mut memory = Memory::new(Adversary::Late, code.threads(launch.block));
    memory.keep_touched();
    // SAFETY: as the caller promises.
    let mut host = unsafe { Host::new() };
    let addresses: Vec<u64> = arguments.iter().map(|at| at.expose_provenance() as u64).collect();
    let arguments = Decoded::read(code, &addresses, &|from, into| host.read(from, into))?;
    if code.has_atomics() && code.global.is_empty() {
        return run_in_turns(kernels, code, launch, arguments, host);
    }
    let arguments = arguments.bind(&mut memory, &host)?;
    let mut variables = (!code.global.is_empty()).then(|| kernels.variables());
    let mut machine = Machine::new(code, launch.clone(), memory);
    let known = variables.as_ref();
    let declared = machine.declare_variables(|name| {
        let key = (code.module.clone(), name.to_owned());
        known.and_then(|known| known.get(&key)).cloned()
    });
    // As many blocks at a time as the user wants threads.
    let jobs = usize::try_from(asyncopt_rt_num_threads()).unwrap_or(1);
    let stop = machine.run(&arguments.values, jobs, &mut |_, _| {}).err();
    // Before the error, since it may tell why.
    print(&std::mem::take(&mut machine.printed));
    let touched = machine.memory.touched(machine.memory.buffer_count());
    let (iterations, tasks) = (std::mem::take(&mut machine.iterations), machine.started());
    let (buffers, _, reports) = machine.memory.into_parts();
    let names = Names {
        code,
        buffers: &buffers,
        iterations: &iterations,
        block: launch.block,
        grid: launch.grid,
        tasks: &tasks,
    };
    let mut findings = names.findings(&reports, stop.as_ref());
    findings.retain(|finding| !finding.note);
    if let Some(first) = show::groups(&findings).first() {
        return Err(first.text());
    }
    arguments.each_access(&touched, note);
    arguments.write_back(&buffers, &mut host);
    if let Some(variables) = &mut variables {
        for (decl, buffer) in code.global.iter().zip(declared) {
            let key = (code.module.clone(), decl.name.clone());
            variables.insert(key, buffers[buffer.0 as usize].data.clone());
        }
    }
    Ok(())
}

/// Runs a kernel by turns with others that access memory atomically, as it does: they may wait for each other.
fn run_in_turns(
    kernels: &Kernels,
    code: &Code,
    launch: Launch,
    arguments: Decoded,
    mut host: Host,
) -> Result<(), String> {
    let mut running = Running::new(code, launch, Adversary::Late, arguments, &[], &host)?;
    let (mut turns, mut waits) = (0, None);
    while !kernels.turns.take(|| running.step(&mut host)) {
        turns += 1;
        if turns == PATIENCE {
            waits = Some(MayWait::begin());
        }
    }
    drop(waits);
    print(&running.take_printed());
    running.each_access(note);
    running.finish()
}

fn note(bytes: Range<u64>, writes: bool, is_atomic: bool) {
    let access = match (writes, is_atomic) {
        (_, true) => Access::Atomic,
        (true, _) => Access::Write,
        _ => Access::Read,
    };
    note_access(access, bytes);
}

fn print(text: &str) {
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    // SAFETY: it is a string.
    unsafe { printString(text.as_ptr()) };
}

#[cfg(test)]
mod tests;
