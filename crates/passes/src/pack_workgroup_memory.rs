//! `--gpux-pack-workgroup-memory`: packs all workgroup memory of a kernel into one allocation.
//!
//! **Condition.** Device code in functions that nothing calls. Sizes are static.
//!
//! **Effect.** One global up to 48 KB, or dynamic memory above, in which each attribution, global, allocation and part of
//! dynamic memory has its place: a `memref.view` at a constant offset. Buffers whose lifetimes don't overlap share bytes.
//! Launches in sight ask for the dynamic memory.
//!
//! **Refusals.** Buffers of unknown size or of a layout that is not row-major, or in a function that is called; more than a
//! block can have on the GPU.
//!
//! The steps, each a module: [`buffers`] says what there is, [`crate::analysis::buffer_flow`] what happens to it, and
//! `tokenflow::packing` where it goes; [`rewrite`](mod@rewrite) puts it there, [`launches`](mod@launches) tells host code,
//! and [`report`] the user.

mod buffers;
mod launches;
mod report;
mod rewrite;
mod symbol_table;

use crate::analysis::buffer_flow;
use crate::analysis::buffer_views::BufferViews;
use crate::analysis::phase_skeleton::is_block_wide_load;
use crate::utils::chip::{MemoryLimit, STATIC_WORKGROUP_BYTES};
use crate::utils::device::{device_code, own_ops};
use crate::utils::static_allocs::IterationOrder;
use crate::utils::verify_result::{VERIFY_RESULT, check_packing, checks};
use async_dialects::registry::GPUX;
use async_mlir::calls::is_call;
use async_mlir::gpu::{is_workgroup, num_attributions};
use async_mlir::ir::{Block, Op, Value};
use async_mlir::melior::ir::Attribute;
use async_mlir::names::{attr, builtin, gpu, memref};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_mlir::types::{known_attribute, memory_space};
use async_verify::packing::{self, Before};
use buffers::{Buffer, Origin, align, collect, unmoved_bytes};
use report::MemoryMap;
use rewrite::Allocation;
use symbol_table::SymbolTable;
use tokenflow::packing::lifetimes::{Lifetimes, Sharing};
use tokenflow::packing::{Layout, Problem, pack};

/// The pass.
pub struct PackWorkgroupMemory;

/// Steps of the search for a layout.
const BUDGET: u32 = 200_000;
/// What `--gpux-tokens-to-mbarriers` may take for mbarriers where loads have tokens.
const MBARRIER_RESERVE: u64 = 1024;

impl Pass for PackWorkgroupMemory {
    const INFO: PassInfo = PassInfo {
        description: include_str!("pack_workgroup_memory/description.md"),
        // Not on functions: it makes globals, and host code says how large dynamic memory is.
        anchor: Anchor::Ops(&[builtin::MODULE, gpu::MODULE]),
        options: &[
            OptionInfo::choice(
                "share",
                "liveness",
                &[
                    ("liveness", "what is not in use at the same time"),
                    ("free", "of that, what barriers separate already"),
                    ("none", "nothing"),
                ],
                "which buffers may share bytes",
            ),
            OptionInfo::string(
                "chip",
                "",
                "the GPU, whose memory is the limit; empty: that of the target of the gpu.module",
            ),
            OptionInfo::bool("explain", false, "draw when each buffer is in use, and say why"),
            VERIFY_RESULT,
        ],
        dependent_dialects: &[GPUX, Dialect::ARITH, Dialect::GPU, Dialect::MEMREF],
        statistics: &[
            StatisticInfo {
                name: "buffers",
                description: "Number of buffers packed",
            },
            StatisticInfo {
                name: "bytes-saved",
                description: "Bytes that sharing has saved",
            },
        ],
        ..PassInfo::new(
            "gpux-pack-workgroup-memory",
            "puts all workgroup memory of a kernel into one allocation",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let device = device_code(root);
        let mut tables: Vec<SymbolTable> = Vec::new();
        for &function in &device {
            let around = function.parent().unwrap_or(root);
            if tables.iter().all(|table| table.op != around) {
                tables.push(SymbolTable::of(around, &device));
            }
            let table = tables.iter_mut().find(|table| table.op == around);
            let Some(table) = table else { continue };
            if table.is_entry(function) {
                pack_function(root, function, table, cx)?;
            } else {
                refuse_own_buffers(function)?;
            }
        }
        for table in &tables {
            table.erase_unused_globals();
        }
        Ok(())
    }
}

/// Returns an error if `function`, in which no threads begin, has buffers of its own.
fn refuse_own_buffers<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let attribution = num_attributions(function) > 0;
    let is_buffer = |op: &Op| {
        let makes = matches!(op.name(), memref::ALLOC | memref::ALLOCA)
            || function.is(gpu::LAUNCH) && op.is(memref::GET_GLOBAL);
        makes && is_workgroup(op.result(0).ty())
    };
    let in_launch = function.is(gpu::LAUNCH) && launch_has_attributions(function);
    let Some(place) = own_ops(function)
        .into_iter()
        .find(is_buffer)
        .or_else(|| (attribution || in_launch).then_some(function))
    else {
        return Ok(());
    };
    Err(if function.is(gpu::LAUNCH) {
        let message = "has workgroup memory in a gpu.launch, which is not a function yet";
        PassError::new(place, message).note(function, "run --gpu-kernel-outlining first")
    } else {
        let message = "has workgroup memory in a function that is called, or may be";
        PassError::new(place, message).note(
            function,
            "run --gpux-inline-calls first, or pass the buffer as an argument",
        )
    })
}

fn launch_has_attributions(launch: Op<'_>) -> bool {
    let entry = launch.region(0).first();
    entry.is_some_and(|block: Block| block.args().any(|arg| is_workgroup(arg.ty())))
}

/// Packs the buffers of `function`.
fn pack_function<'c>(
    root: Op<'c>,
    function: Op<'c>,
    table: &mut SymbolTable<'c>,
    cx: &PassContext<'c>,
) -> Result<(), PassError<'c>> {
    if function.region(0).first().is_none() {
        return Ok(());
    }
    let sharing = sharing(cx);
    let iterations = match sharing {
        Sharing::Liveness => IterationOrder::InsertedBarriers,
        Sharing::Free | Sharing::None => IterationOrder::ExistingBarriers,
    };
    let mut buffers = collect(function, table, iterations)?;
    let roots: Vec<Vec<Value>> = buffers.iter().map(|buffer| buffer.roots.clone()).collect();
    let views = BufferViews::of(&roots);
    align(function, &mut buffers, &views);
    let limit = MemoryLimit::of(function, cx.str("chip"))?;
    if let Some(buffer) = buffers.iter().find(|buffer| buffer.alignment > limit.bytes) {
        let message = format!(
            "has workgroup memory that is aligned to {} bytes, more than a block has",
            buffer.alignment
        );
        return Err(PassError::new(function, message).note(buffer.location, "ask for less"));
    }
    if let Some(error) = callee_with_dynamic(function, &buffers, table) {
        return Err(error);
    }
    let flow = buffer_flow::read(function, &views);
    let everywhere: Vec<bool> = views.escapes.iter().map(Option::is_some).collect();
    let lifetimes = Lifetimes::of(&flow.flow, &everywhere);
    let interference = lifetimes.interference(&flow.flow, sharing);
    let layout = layout(function, &buffers, interference, limit.bytes)?;
    let map = MemoryMap {
        function,
        buffers: &buffers,
        layout: &layout,
        lifetimes: &lifetimes,
        flow: &flow,
        views: &views,
        unmoved: unmoved_bytes(function, table),
    };
    let bytes = layout.bytes.saturating_add(map.unmoved);
    if bytes > limit.bytes {
        return Err(map.too_large(&limit.name, limit.bytes));
    }
    let has_loads = own_ops(function).into_iter().any(is_block_wide_load);
    let reserve = if has_loads { MBARRIER_RESERVE } else { 0 };
    let is_static = bytes + reserve <= STATIC_WORKGROUP_BYTES;
    let remark = map.remark(is_static, cx.bool("explain"));
    let check = checks(cx).map(|timer| (timer, timer.time(|| Before::of(function))));
    place(root, function, table, &map, is_static)?;
    if let Some((timer, before)) = check {
        timer.time(|| check_packing(&before, root, checked_sharing(sharing), layout.bytes))?;
    }
    if let Some(remark) = remark {
        remark.emit();
    }
    cx.count("buffers", buffers.len() as u64);
    cx.count("bytes-saved", map.saved());
    Ok(())
}

/// Where `buffers` of `function` go. If one has more than `most` bytes, that is its size alone.
fn layout<'c>(
    function: Op<'c>,
    buffers: &[Buffer<'c>],
    interference: Vec<(usize, usize)>,
    most: u64,
) -> Result<Layout, PassError<'c>> {
    let largest = buffers.iter().map(|buffer| buffer.bytes).max().unwrap_or(0);
    if largest > most {
        return Ok(Layout {
            offsets: vec![0; buffers.len()],
            bytes: largest,
        });
    }
    let buffers = buffers.iter().map(|buffer| tokenflow::packing::Buffer {
        bytes: buffer.bytes,
        alignment: buffer.alignment,
    });
    let problem = Problem {
        buffers: buffers.collect(),
        interference,
    };
    checked(function, &problem, pack(&problem, BUDGET))
}

/// `layout`, if it solves `problem`.
fn checked<'c>(function: Op<'c>, problem: &Problem, layout: Layout) -> Result<Layout, PassError<'c>> {
    match layout.verify(problem) {
        Ok(()) => Ok(layout),
        Err(fault) => {
            let message = format!(
                "gets a layout of its workgroup memory that is wrong: {fault} (this is a bug in async-opt)"
            );
            Err(PassError::new(function, message)
                .note(function, "run the pass with share=none, and report this kernel"))
        }
    }
}

fn sharing(cx: &PassContext<'_>) -> Sharing {
    match cx.str("share") {
        "free" => Sharing::Free,
        "none" => Sharing::None,
        _ => Sharing::Liveness,
    }
}

/// What the check calls `sharing`.
fn checked_sharing(sharing: Sharing) -> packing::Sharing {
    match sharing {
        Sharing::Liveness => packing::Sharing::Liveness,
        Sharing::Free => packing::Sharing::Barriers,
        Sharing::None => packing::Sharing::None,
    }
}

/// An error if `function` may call one that uses dynamic memory, which begins where that of `function` does.
fn callee_with_dynamic<'c>(
    function: Op<'c>,
    buffers: &[Buffer<'c>],
    table: &SymbolTable<'c>,
) -> Option<PassError<'c>> {
    let call = own_ops(function).into_iter().find(|op| is_call(*op))?;
    let dynamic = table.dynamic.filter(|_| !buffers.is_empty())?;
    let message = "uses dynamic workgroup memory in a function that is called, which can't be moved";
    let help = "inline this call first, or pass a view of the memory as an argument";
    Some(PassError::new(dynamic, message).note(call, help))
}

/// Puts the buffers of `map` where the layout says.
fn place<'c>(
    root: Op<'c>,
    function: Op<'c>,
    table: &mut SymbolTable<'c>,
    map: &MemoryMap<'_, 'c>,
    is_static: bool,
) -> Result<(), PassError<'c>> {
    let space = space_of(function, map.buffers, is_static)?;
    let had_dynamic = map
        .buffers
        .iter()
        .any(|buffer| matches!(buffer.origin, Origin::Views { .. }));
    let allocation = if is_static {
        let name = function.str_attr(attr::SYM_NAME).unwrap_or("kernel");
        Allocation::Static(table.new_name(&format!("__wg_{name}")))
    } else {
        Allocation::Dynamic
    };
    let moved = map.buffers.iter().filter_map(|buffer| match buffer.origin {
        Origin::Global(name) => Some(name),
        _ => None,
    });
    table.moved.extend(moved);
    rewrite::rewrite(function, map.buffers, map.layout, &allocation, space);
    if !is_static || had_dynamic {
        let bytes = if is_static { 0 } else { map.layout.bytes };
        for launch in launches::launches(root, function) {
            launches::set_size(launch, bytes);
        }
    }
    Ok(())
}

/// The memory space of all `buffers`, or an error if they have several.
fn space_of<'c>(
    function: Op<'c>,
    buffers: &[Buffer<'c>],
    is_static: bool,
) -> Result<Attribute<'c>, PassError<'c>> {
    let gpu_space = known_attribute(function.context(), "#gpu.address_space<workgroup>");
    let mut spaces = buffers
        .iter()
        .filter_map(|buffer| memory_space(buffer.roots[0].ty()));
    let first = spaces.next().unwrap_or(gpu_space);
    if spaces.any(|space| space != first) || !is_static && first != gpu_space {
        let message = format!("has workgroup memory whose memory space is not {gpu_space} in all types");
        return Err(PassError::new(function, message).note(function, "write it as this everywhere"));
    }
    Ok(first)
}
