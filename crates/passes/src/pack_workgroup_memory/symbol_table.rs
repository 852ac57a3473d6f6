//! The functions and globals of a symbol table that has device code.

use crate::analysis::buffer_parts::bytes_of;
use async_mlir::calls::UsedSymbols;
use async_mlir::gpu::{is_kernel, is_workgroup};
use async_mlir::ir::{Block, Op, Region, Walk};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::names::{attr, gpu, memref};
use async_mlir::types::symbol;
use rustc_hash::{FxHashMap, FxHashSet};

/// A symbol table.
pub(super) struct SymbolTable<'c> {
    pub op: Op<'c>,
    /// What something in it refers to.
    pub used: UsedSymbols,
    names: FxHashSet<String>,
    globals: FxHashMap<&'c str, Op<'c>>,
    /// Globals that are used outside of functions that are packed.
    shared: FxHashSet<&'c str>,
    /// Dynamic memory that is.
    pub dynamic: Option<Op<'c>>,
    /// Globals whose place is in another one now.
    pub moved: FxHashSet<&'c str>,
}

impl<'c> SymbolTable<'c> {
    /// The symbol table `op`, of whose functions those of `device` are device code.
    pub fn of(op: Op<'c>, device: &[Op<'c>]) -> Self {
        let used = UsedSymbols::of(op);
        let symbols = op.regions().flat_map(Region::blocks).flat_map(Block::ops);
        let mut table = Self {
            op,
            used,
            names: FxHashSet::default(),
            globals: FxHashMap::default(),
            shared: FxHashSet::default(),
            dynamic: None,
            moved: FxHashSet::default(),
        };
        for symbol in symbols {
            let Some(name) = symbol.str_attr(attr::SYM_NAME) else {
                continue;
            };
            table.names.insert(name.to_owned());
            if symbol.is(memref::GLOBAL) {
                table.globals.insert(name, symbol);
            }
        }
        op.walk(|inner| {
            if device.contains(&inner) && table.is_entry(inner) {
                return Walk::Skip;
            }
            if inner.is(gpu::DYNAMIC_SHARED_MEMORY) {
                table.dynamic = Some(inner);
            } else if inner.is(memref::GET_GLOBAL) {
                table.shared.extend(inner.attr(attr::NAME).and_then(symbol));
            }
            Walk::Advance
        });
        table
    }

    /// Returns true if threads begin at `function`: nothing calls it.
    pub fn is_entry(&self, function: Op<'c>) -> bool {
        !function.is(gpu::LAUNCH)
            && (is_kernel(function) || !function.is(gpu::FUNC) && !self.used.has(function))
    }

    /// The global of the workgroup that `get` names, if only functions that are packed use it.
    pub fn movable_global(&self, get: Op<'c>) -> Option<(&'c str, Op<'c>)> {
        if !get.is(memref::GET_GLOBAL) || !is_workgroup(get.result(0).ty()) {
            return None;
        }
        let name = get.attr(attr::NAME).and_then(symbol)?;
        let global = *self.globals.get(name)?;
        // One without an initial value, which is none at all, is defined elsewhere.
        let is_defined = global.attr(attr::INITIAL_VALUE) == Some(Attribute::unit(get.context()));
        (is_defined && !self.shared.contains(name)).then_some((name, global))
    }

    /// The globals of the workgroup that other functions use, with their sizes.
    pub fn unmoved_globals(&self) -> impl Iterator<Item = (&'c str, u64)> + '_ {
        self.shared.iter().filter_map(|&name| {
            let ty = TypeAttribute::try_from(self.globals.get(name)?.attr(attr::TYPE)?)
                .ok()?
                .value();
            is_workgroup(ty).then(|| (name, bytes_of(ty).unwrap_or(0)))
        })
    }

    /// A name that no symbol has, beginning with `name`; it is taken from now on.
    pub fn new_name(&mut self, name: &str) -> String {
        let numbered = (0..=self.names.len()).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names.find(|name| !self.names.contains(name));
        let free = free.expect("there are more numbers than symbols");
        self.names.insert(free.clone());
        free
    }

    /// Takes away the globals that are moved, if nothing refers to them any more.
    pub fn erase_unused_globals(&self) {
        let used = UsedSymbols::of(self.op);
        let moved = self.moved.iter().filter_map(|name| self.globals.get(name));
        for global in moved.filter(|global| !used.has(**global)) {
            global.erase();
        }
    }
}
