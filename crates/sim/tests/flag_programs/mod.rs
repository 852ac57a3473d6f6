//! Random programs of three engines, for `--gpux-insert-flags`.

use crate::random::Random;
use std::fmt::Write;

struct Writer {
    state: Random,
    text: String,
    /// How many values there are.
    values: usize,
    /// Something with effects runs on no engine.
    has_stores: bool,
}

const ENGINES: [&str; 3] = ["A", "B", "C"];

const EFFECTS: [&str; 3] = [
    "async.reads = [0]",
    "async.writes = [0]",
    "async.reads = [], async.writes = []",
];

/// Buffers: of the function's own, two that may be the same, and one that nothing else is.
const TILES: [&str; 6] = ["%t0", "%t1", "%t2", "%a0", "%a1", "%a2"];

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.state.below(below)
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    fn pick(&mut self, visible: &[String]) -> String {
        let at = self.draw(visible.len());
        visible[at].clone()
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn engine(&mut self) -> &'static str {
        ENGINES[self.draw(3)]
    }

    /// A tile, or a view of one, and its type, in an iteration of `index`.
    fn tile(&mut self, visible: &[String], index: &str) -> (String, &'static str) {
        let tile = TILES[self.draw(6)].to_owned();
        let view = self.value();
        match self.draw(8) {
            0 => {
                self.line(&format!(
                    "{view} = memref.subview {tile}[{index}, 0] [1, 64] [1, 1] : !tile to !row"
                ));
                (view, "!row")
            }
            1 => {
                let (slot, modulus) = (self.value(), ["%c2", "%c3"][self.draw(2)]);
                let other = self.value();
                self.line(&format!(
                    "{other} = arith.addi {index}, %c{} : index",
                    self.values % 3
                ));
                self.line(&format!("{slot} = arith.remui {other}, {modulus} : index"));
                self.line(&format!(
                    "{view} = memref.subview {tile}[{slot}, 0] [1, 64] [1, 1] : !tile to !row"
                ));
                (view, "!row")
            }
            2 => {
                let (condition, other) = (self.condition(visible), TILES[self.draw(6)]);
                self.line(&format!(
                    "{view} = arith.select {condition}, {tile}, {other} : !tile"
                ));
                (view, "!tile")
            }
            3 => (format!("%b{}", self.draw(3)), "!bytes"),
            4 => {
                // It leaves the view, for the row behind.
                let bytes = self.draw(3);
                self.line(&format!(
                    "{view} = memref.reinterpret_cast %b{bytes} to offset: [64], sizes: [64], strides: [1] : !bytes to !behind"
                ));
                (view, "!behind")
            }
            _ => (tile, "!tile"),
        }
    }

    /// An operation that accesses a tile, in an iteration of `index`. Returns its result.
    fn operation(&mut self, visible: &[String], index: &str) -> String {
        let (tile, ty) = self.tile(visible, index);
        let (result, used) = (self.value(), self.pick(visible));
        let (engine, effect) = (self.engine(), EFFECTS[self.draw(3)]);
        self.line(&format!(
            "{result} = \"npu.op\"({tile}, {used}) {{async.engine = \"{engine}\", {effect}}} : ({ty}, i32) -> i32"
        ));
        result
    }

    /// A condition on one of the values.
    fn condition(&mut self, visible: &[String]) -> String {
        let (used, condition) = (self.pick(visible), self.value());
        self.line(&format!("{condition} = arith.cmpi eq, {used}, %zero : i32"));
        condition
    }

    /// A store on no engine, or a fence on one, or something pure.
    fn other(&mut self, visible: &[String]) -> String {
        let (used, sum) = (self.pick(visible), self.value());
        match self.draw(4) {
            0 => {
                self.has_stores = true;
                let buffer = self.value();
                self.line(&format!("{buffer} = memref.alloc() : memref<i32>"));
                self.line(&format!("memref.store {used}, {buffer}[] : memref<i32>"));
            }
            1 => {
                let engine = self.engine();
                self.line(&format!("gpu.barrier {{async.engine = \"{engine}\"}}"));
            }
            _ => {}
        }
        let added = self.pick(visible);
        self.line(&format!("{sum} = arith.addi {used}, {added} : i32"));
        sum
    }

    fn for_loop(&mut self, depth: usize, visible: &[String]) -> String {
        let (result, argument, inner) = (self.value(), self.value(), self.value());
        let first = self.pick(visible);
        self.line(&format!(
            "{result} = scf.for {inner} = %c0 to %n step %c1 iter_args({argument} = {first}) -> (i32) {{"
        ));
        let all = [visible, &[argument]].concat();
        let last = self.block(depth - 1, &all, &inner);
        self.line(&format!("scf.yield {last} : i32\n}}"));
        result
    }

    fn branch(&mut self, depth: usize, visible: &[String], index: &str) -> String {
        let (result, condition) = (self.value(), self.condition(visible));
        self.line(&format!("{result} = scf.if {condition} -> (i32) {{"));
        let last = self.block(depth - 1, visible, index);
        self.line(&format!("scf.yield {last} : i32\n}} else {{"));
        let last = if self.draw(2) == 0 {
            self.pick(visible)
        } else {
            self.block(depth - 1, visible, index)
        };
        self.line(&format!("scf.yield {last} : i32\n}}"));
        result
    }

    fn region(&mut self, depth: usize, visible: &[String], index: &str) -> String {
        let result = self.value();
        self.line(&format!("{result} = scf.execute_region -> i32 {{"));
        let last = self.block(depth - 1, visible, index);
        self.line(&format!("scf.yield {last} : i32\n}}"));
        result
    }

    fn while_loop(&mut self, depth: usize, visible: &[String], index: &str) -> String {
        let (result, argument, handed) = (self.value(), self.value(), self.value());
        let first = self.pick(visible);
        self.line(&format!(
            "{result} = scf.while ({argument} = {first}) : (i32) -> i32 {{"
        ));
        let all = [visible, &[argument]].concat();
        let last = self.block(depth - 1, &all, index);
        let condition = self.condition(&[&all[..], std::slice::from_ref(&last)].concat());
        self.line(&format!(
            "scf.condition({condition}) {last} : i32\n}} do {{\n^bb0({handed}: i32):"
        ));
        let all = [visible, &[handed]].concat();
        let last = self.block(depth - 1, &all, index);
        self.line(&format!("scf.yield {last} : i32\n}}"));
        result
    }

    /// Some operations; returns a value of theirs.
    fn block(&mut self, depth: usize, visible: &[String], index: &str) -> String {
        let mut visible = visible.to_vec();
        for _ in 0..=self.draw(4) {
            let made = match self.draw(if depth == 0 { 6 } else { 11 }) {
                5 => self.other(&visible),
                6 | 7 => self.for_loop(depth, &visible),
                8 => self.branch(depth, &visible, index),
                9 => self.while_loop(depth, &visible, index),
                10 => self.region(depth, &visible, index),
                _ => self.operation(&visible, index),
            };
            visible.push(made);
        }
        self.pick(&visible)
    }
}

/// A random program, and whether something with effects runs on no engine in it.
pub fn program(seed: u64) -> (String, bool) {
    let mut writer = Writer {
        state: Random(seed),
        text: String::new(),
        values: 0,
        has_stores: false,
    };
    let visible = ["%x".to_owned(), "%y".to_owned()];
    let depth = usize::try_from(seed % 3).unwrap_or(0);
    writer.block(depth, &visible, "%c1");
    let source = format!(
        "!tile = memref<8x64xf32>\n!row = memref<1x64xf32, strided<[64, 1], offset: ?>>\n!bytes = memref<64xi8>\n!behind = memref<64xi8, strided<[1], offset: 64>>\n\
         func.func @random(%a0: !tile, %a1: !tile, %a2: !tile {{llvm.noalias}}, %x: i32, %y: i32, %n: index) {{\n\
         %c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c2 = arith.constant 2 : index\n\
         %c3 = arith.constant 3 : index\n%c64 = arith.constant 64 : index\n%zero = arith.constant 0 : i32\n\
         %t0 = memref.alloc() : !tile\n%t1 = memref.alloc() : !tile\n%t2 = memref.alloc() : !tile\n\
         %pool = memref.alloc() : memref<192xi8>\n%b0 = memref.view %pool[%c0][] : memref<192xi8> to !bytes\n\
         %b1 = memref.view %pool[%c64][] : memref<192xi8> to !bytes\n\
         %b2 = memref.view %pool[%c64][] : memref<192xi8> to !bytes\n{}return\n}}\n",
        writer.text
    );
    (source, writer.has_stores)
}
