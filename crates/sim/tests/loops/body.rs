//! The bodies of random loops.

use super::early::Handed;
use super::forms::Form;
use super::{Observed, Stmt};
use std::collections::BTreeSet;

const TILE: &str = "!Tile";
const HALO: &str = "!Halo";

/// An operation of the body, with the number of its statement.
pub(super) struct Line {
    pub text: String,
    pub part: usize,
}

/// The body while it is written.
pub(super) struct Body {
    /// Operations that have a stage, and those that are recomputed.
    pub lines: Vec<Line>,
    pub parts: usize,
    /// The types of the buffers that are written in all iterations.
    pub buffers: Vec<&'static str>,
    /// How many buffers are written in some iterations only.
    pub conditional: usize,
    /// Those of them that are read in all iterations.
    pub kept: Vec<usize>,
    pub carried: Vec<(String, String)>,
    /// The tokens that the loop carries: with what, and what is the next.
    pub handed: Vec<(String, String)>,
    /// Those of them that are awaited after the loop.
    pub awaited_after: Vec<usize>,
    /// More buffers, what is in flight where the loop is entered, and what comes after it.
    pub more_buffers: String,
    pub before: String,
    pub after: String,
    /// How many copies are made before the loop.
    pub copied_before: usize,
    /// Which loads are to buffers that such a copy fills, too, and whether the loop may be left alone.
    early: (Vec<Option<Handed>>, bool),
    pub form: Form,
    /// What has to have an effect on the result.
    looks: Observed,
    /// How many stores to the output there are.
    stores: usize,
    /// The buffers that have an effect on the result.
    observed: BTreeSet<usize>,
    /// The parts that transfer tiles.
    pub transfers: Vec<usize>,
    /// The parts that are in the stage of the part before.
    pub no_later: BTreeSet<usize>,
}

impl Body {
    pub fn new(form: Form, looks: Observed, early: (Vec<Option<Handed>>, bool)) -> Self {
        Self {
            lines: Vec::new(),
            parts: 0,
            buffers: Vec::new(),
            conditional: 0,
            kept: Vec::new(),
            carried: Vec::new(),
            handed: Vec::new(),
            awaited_after: Vec::new(),
            more_buffers: String::new(),
            before: String::new(),
            after: String::new(),
            copied_before: 0,
            early,
            form,
            looks,
            stores: 0,
            observed: BTreeSet::new(),
            transfers: Vec::new(),
            no_later: BTreeSet::new(),
        }
    }

    /// Returns true if the loop can await what is in flight before it. A wait that counts is for copies of the loop, too, which a given
    /// schedule may execute later.
    fn can_await_early(&self) -> bool {
        self.early.1 || !matches!(self.form, Form::Nvgpu(_))
    }

    pub fn part(&mut self) -> usize {
        self.parts += 1;
        self.parts - 1
    }

    /// Adds an operation; `{}` stands for its attributes.
    pub fn op(&mut self, part: usize, text: String) {
        self.lines.push(Line { text, part });
    }

    /// Loads what buffer `b` holds for a neighbor.
    fn read(&mut self, part: usize, b: usize, shift: u32) -> String {
        let n = self.lines.len();
        let b = b % self.buffers.len();
        self.observed.insert(b);
        let ty = self.buffers[b];
        // There is no need to wrap around where there is a halo.
        let place = if ty == HALO { "h" } else { "s" };
        self.op(
            part,
            format!("%v{n} = memref.load %b{b}[%{place}{shift}] {{}} : {ty}"),
        );
        format!("%v{n}")
    }

    /// Carries the sum of `value` and 31 times what was carried.
    pub fn sum(&mut self, part: usize, value: &str) {
        let k = self.carried.len();
        let n = self.lines.len();
        self.op(part, format!("%m{n} = arith.muli %a{k}, %c31 {{}} : i32"));
        self.op(part, format!("%w{n} = arith.addi %m{n}, {value} {{}} : i32"));
        self.carried.push(("%zero".to_owned(), format!("%w{n}")));
    }

    /// Stores `value` where other stores of the iteration do, or where nothing else does.
    fn output(&mut self, part: usize, value: &str) -> String {
        if self.looks == Observed::Anything {
            return format!("memref.store {value}, %out[%from]");
        }
        self.stores += 1;
        let n = self.stores;
        self.op(
            part,
            format!("%place{n} = arith.addi %from, %c{} {{}} : index", n * 1024),
        );
        format!("memref.store {value}, %out[%place{n}]")
    }

    /// Gives what is in each buffer an effect on the result.
    pub fn observe(&mut self) {
        for b in 0..self.buffers.len() {
            if !self.observed.contains(&b) {
                self.add(&Stmt::Sum(b, 1));
            }
        }
    }

    /// Loads a buffer under a condition, and adds what it holds for a neighbor under another one, or always.
    fn load_if(&mut self, condition: &str, read: Option<&str>) {
        let (k, x) = (self.carried.len(), self.conditional);
        self.conditional += 1;
        let mut parts = Vec::new();
        for line in self.form.load_if(x, condition) {
            parts.push(self.part());
            self.op(parts[parts.len() - 1], line);
        }
        if self.looks != Observed::Awaits {
            parts.push(self.part());
        }
        let part = parts[parts.len() - 1];
        match read {
            Some(read) => self.op(part, format!("%r{k} = scf.if %{read} -> i32 {{\n  %u = memref.load %x{x}[%s1] : !Tile\n  scf.yield %u : i32\n}} else {{\n  scf.yield %zero : i32\n}} {{}}")),
            None => {
                self.op(part, format!("%r{k} = memref.load %x{x}[%s1] {{}} : !Tile"));
                // The next iteration may keep what is in the buffer.
                self.kept.push(x);
                self.no_later.extend(&parts[1..]);
            }
        }
        let part = self.part();
        self.sum(part, &format!("%r{k}"));
    }

    pub fn add(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Load | Stmt::LoadMasked | Stmt::LoadHalo => {
                let b = self.buffers.len();
                let ty = if matches!(stmt, Stmt::LoadHalo) {
                    HALO
                } else {
                    TILE
                };
                // It has to be known that the loop overwrites all of it.
                let handed = self.early.0.get(b).copied().flatten();
                let can_be_early = self.can_await_early()
                    && (self.early.1 || matches!(stmt, Stmt::Load) && self.form != Form::Tma);
                let is_sure = |handed: &Handed| !matches!(handed, Handed::Once | Handed::Later);
                if let Some(handed) = handed.filter(|handed| can_be_early && is_sure(handed)) {
                    // All such stores write to the same place.
                    let reads = b == 1 && ty == TILE;
                    self.await_early(handed, &format!("%b{b}"), ty, reads);
                }
                let (issue, wait) = (self.part(), self.part());
                self.transfers.push(issue);
                let (ty, (transfer, awaits)) = match stmt {
                    Stmt::LoadHalo => (HALO, self.form.load_halo(b)),
                    Stmt::LoadMasked => (TILE, self.form.load_masked(b)),
                    _ => (TILE, self.form.load(b)),
                };
                self.buffers.push(ty);
                for line in transfer {
                    self.op(issue, line);
                }
                let is_awaited = !awaits.is_empty();
                for line in awaits {
                    self.op(wait, line);
                }
                if is_awaited && self.looks == Observed::Awaits {
                    let value = self.read(wait, b, 0);
                    self.sum(wait, &value);
                }
            }
            Stmt::Preloaded(..) | Stmt::Behind(_) if !self.can_await_early() => {}
            Stmt::Preloaded(handed, shift) => self.preloaded(handed, shift),
            Stmt::Behind(shift) => self.behind(shift),
            Stmt::LoadIf => self.load_if("odd", Some("odd")),
            Stmt::LoadFixed => self.load_if("fixed", Some("both")),
            Stmt::LoadKept => self.load_if("odd", None),
            Stmt::Pass(from, shift) => {
                let part = self.part();
                let value = self.read(part, from, shift);
                let b = self.buffers.len();
                self.buffers.push(TILE);
                self.op(part, format!("memref.store {value}, %b{b}[%t] {{}} : !Tile"));
            }
            Stmt::Sum(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                self.sum(part, &value);
            }
            Stmt::Fetch(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                let part = self.part();
                self.sum(part, &value);
            }
            Stmt::Store(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                let store = self.output(part, &value);
                self.op(part, format!("{store} {{}} : memref<?xi32>"));
            }
            Stmt::StoreIf(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                let store = self.output(part, &value);
                self.op(
                    part,
                    format!("scf.if %odd {{\n  {store} : memref<?xi32>\n}} {{}}"),
                );
            }
            Stmt::Swap => {
                let k = self.carried.len();
                self.carried.push(("%c31".to_owned(), format!("%a{}", k + 1)));
                self.carried.push(("%zero".to_owned(), format!("%a{k}")));
                let part = self.part();
                self.sum(part, &format!("%a{k}"));
            }
        }
    }
}
