//! Runs kernels in the interpreter, as the runtime's launcher of its host device.
//!
//! **Effect.** The kernel has run as `async-sim` runs it, with asynchronous copies as late as they may be, and the bytes that it has
//! changed are in the host's memory.
//!
//! **Refusals.** What the interpreter finds wrong, such as a race, is the error of the launch, and then nothing is written.

use crate::arguments::Arguments;
use crate::kernels::Kernels;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::show::{self, Names};
use asyncopt_rt::device::{Access, LaunchSizes, device, note_access};
use asyncopt_rt::interface::asyncopt_rt_num_threads;
use asyncopt_rt::memref::printString;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What `async-sim` lets a thread run.
const BUDGET: u64 = 1 << 24;
/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

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
    let launch = sizes_of(code, sizes)?;
    let mut memory = Memory::new(Adversary::Late, code.threads(launch.block));
    // SAFETY: as the caller promises.
    let arguments = unsafe { Arguments::read(code, arguments, &mut memory) }?;
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
    let printed = std::mem::take(&mut machine.printed).replace('\0', "");
    let printed = CString::new(printed).unwrap_or_default();
    // SAFETY: it is a string.
    unsafe { printString(printed.as_ptr()) };
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
    arguments.each_access(&touched, |bytes, writes, is_atomic| {
        let access = match (writes, is_atomic) {
            (_, true) => Access::Atomic,
            (true, _) => Access::Write,
            _ => Access::Read,
        };
        note_access(access, bytes);
    });
    // SAFETY: as the caller promises.
    unsafe { arguments.write_back(&buffers) };
    if let Some(variables) = &mut variables {
        for (decl, buffer) in code.global.iter().zip(declared) {
            let key = (code.module.clone(), decl.name.clone());
            variables.insert(key, buffers[buffer.0 as usize].data.clone());
        }
    }
    Ok(())
}

/// Checks what a kernel is launched with.
fn sizes_of(code: &Code, sizes: &LaunchSizes) -> Result<Launch, String> {
    let dimensions = |of: [i64; 3], what: &str| -> Result<[u32; 3], String> {
        let mut dimensions = [1; 3];
        for (to, from) in dimensions.iter_mut().zip(of) {
            let size = u32::try_from(from).ok().filter(|size| *size > 0);
            *to =
                size.ok_or_else(|| format!("it is launched with {what} of {of:?}, and each is 1 at least"))?;
        }
        Ok(dimensions)
    };
    let (grid, block) = (
        dimensions(sizes.grid, "a grid")?,
        dimensions(sizes.block, "blocks")?,
    );
    let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
    if product(block) > 1024 {
        return Err(format!(
            "it is launched with blocks of {block:?} threads, and 1024 is the most"
        ));
    }
    if product(grid).saturating_mul(product(block)) > u128::from(u32::MAX) {
        return Err(format!(
            "it is launched with more threads than the interpreter counts, {}",
            u32::MAX
        ));
    }
    if sizes.cluster.iter().any(|&size| size > 1) {
        return Err("it is launched with clusters, which the interpreter does not know".into());
    }
    let known = [("a grid", code.grid, grid), ("blocks", code.block, block)];
    for (what, known, given) in known {
        if let Some(known) = known.filter(|known| *known != given) {
            return Err(format!(
                "it is launched with {what} of {given:?}, and says itself that it is for {known:?}"
            ));
        }
    }
    let dynamic_workgroup = usize::try_from(sizes.workgroup_bytes).unwrap_or(usize::MAX);
    let buffers = code.workgroup.iter().filter_map(|decl| decl.view.span_bytes());
    if buffers.fold(dynamic_workgroup, usize::saturating_add) > MAX_WORKGROUP {
        return Err(format!(
            "it has more than {MAX_WORKGROUP} bytes of workgroup memory"
        ));
    }
    Ok(Launch {
        grid,
        block,
        dynamic_workgroup,
        budget: BUDGET,
    })
}

#[cfg(test)]
mod tests;
