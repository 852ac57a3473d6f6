//! `--gpux-allocs-to-globals`: workgroup memory that a kernel allocates becomes globals.
//!
//! **Condition.** Device code in functions that are not called: a call that needs a buffer of its own is inlined.
//!
//! **Effect.** Each `memref.alloc` and `memref.alloca` of workgroup memory is one `memref.global` for the whole block, as
//! upstream's `transform.memref.alloca_to_global` has it, and what would free it is gone. Left to upstream's lowering, it
//! would be memory of `malloc`, or of one thread's stack, whose address is taken for one of shared memory.
//!
//! **Refusals.** What can't be one buffer: sizes that are not known, and allocations of which two may be in use at once.
//! An allocation that is executed again (in a loop) is only taken if nothing of the last one is left by then: its uses
//! are in the same block, its copies are awaited there, and a barrier there keeps threads that are ahead from it.

use crate::utils::device::{device_code, is_workgroup_alloc};
use crate::utils::static_allocs::{IterationOrder, check};
use async_dialects::registry::GPUX;
use async_mlir::calls::UsedSymbols;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Block, Op, OpBuilder, Region, int_attr};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute};
use async_mlir::names::{attr, builtin, gpu, memref};
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub struct AllocsToGlobals;

impl Pass for AllocsToGlobals {
    const INFO: PassInfo = PassInfo {
        description: include_str!("allocs_to_globals/description.md"),
        // Not on functions: it makes globals.
        anchor: Anchor::Ops(&[builtin::MODULE, gpu::MODULE]),
        dependent_dialects: &[GPUX, Dialect::MEMREF],
        statistics: &[StatisticInfo {
            name: "globals",
            description: "Number of globals made",
        }],
        ..PassInfo::new(
            "gpux-allocs-to-globals",
            "makes globals of workgroup memory that device code allocates",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut tables = FxHashMap::default();
        for function in device_code(root) {
            let ops = function.self_and_nested();
            let allocs: Vec<Op> = ops.iter().copied().filter(|op| is_workgroup_alloc(*op)).collect();
            for free in ops.into_iter().filter(|op| op.is(memref::DEALLOC)) {
                if is_workgroup(free.operand(0).ty()) {
                    free.erase();
                }
            }
            let Some(around) = function.parent().filter(|_| !allocs.is_empty()) else {
                continue;
            };
            let table = tables.entry(around).or_insert_with(|| SymbolTable::of(around));
            for &alloc in &allocs {
                check(function, alloc, &table.used, IterationOrder::ExistingBarriers)?;
            }
            table.make_globals(function, &allocs);
            cx.count("globals", allocs.len() as u64);
        }
        Ok(())
    }
}

/// A symbol table that functions are in.
struct SymbolTable {
    used: UsedSymbols,
    names: FxHashSet<String>,
}

impl SymbolTable {
    fn of(table: Op<'_>) -> Self {
        let ops = table.regions().flat_map(Region::blocks).flat_map(Block::ops);
        let names = ops.filter_map(|op| op.str_attr(attr::SYM_NAME));
        Self {
            used: UsedSymbols::of(table),
            names: names.map(str::to_owned).collect(),
        }
    }

    /// Puts a global in the place of each of `allocs`, which are in `function`.
    fn make_globals<'c>(&mut self, function: Op<'c>, allocs: &[Op<'c>]) {
        let kernel = function.str_attr(attr::SYM_NAME).unwrap_or("kernel");
        // As many numbers as there could be names in the way, and one for each allocation.
        let numbers = 0..=self.names.len() + allocs.len();
        let mut names = numbers.map(|number| format!("__wg_{kernel}_alloc_{number}"));
        for &alloc in allocs {
            let name = names.find(|name| !self.names.contains(name));
            let name = name.expect("there are more numbers than symbols");
            make_global(function, alloc, &name);
            self.names.insert(name);
        }
    }
}

/// Puts a global of the name `name`, made before `function`, in the place of `alloc`.
fn make_global<'c>(function: Op<'c>, alloc: Op<'c>, name: &str) {
    let context = alloc.context();
    let ty = alloc.result(0).ty();
    let mut global = OpBuilder::new(memref::GLOBAL, alloc.location())
        .attr(attr::SYM_NAME, StringAttribute::new(context, name).into())
        .attr(
            attr::SYM_VISIBILITY,
            StringAttribute::new(context, "private").into(),
        )
        .attr(attr::TYPE, TypeAttribute::new(ty).into())
        // It holds nothing yet, and it is defined here.
        .attr(attr::INITIAL_VALUE, Attribute::unit(context));
    if let Some(alignment) = alloc.int_attr(attr::ALIGNMENT) {
        global = global.attr(attr::ALIGNMENT, int_attr(context, 64, alignment));
    }
    global.before(function);
    let get = OpBuilder::new(memref::GET_GLOBAL, alloc.location())
        .attr(attr::NAME, FlatSymbolRefAttribute::new(context, name).into())
        .results(&[ty])
        .before(alloc);
    get.copy_discardable_attrs(alloc);
    alloc.replace_with(&[get.result(0)]);
}
