//! Two dimensions: each block has a panel of columns, or one after the other, and goes down its rows tile by tile.

use super::{Arg, Kernel, buffer_type, numbers, part_type, ring, tile_type};
use crate::describe::{Case, Kind};
use crate::text::{Text, Value};

/// The elements that a thread takes at once.
const LANES: usize = 8;
/// The elements of a copy of 16 bytes.
const COPY: usize = 4;
/// The panels of a persistent kernel, if there are as many.
const PANELS: usize = 5;
/// A buffer in global memory.
const GLOBAL: &str = "memref<?x?xf32>";

/// What a tile looks like.
struct Panel {
    kind: Kind,
    stages: usize,
    threads: usize,
    rows: usize,
    columns: usize,
    /// The sizes of a box; a tile is one or several.
    tile: [usize; 2],
}

impl Panel {
    fn new(case: &Case) -> Self {
        let (rows, columns, tile) = match case.kind {
            // The widest box that there is.
            Kind::Several if case.inner > 128 => (8, 256, [4, 256]),
            Kind::Several => (16, 64, [8, 64]),
            // A thread makes some copies a tile.
            Kind::PointwiseCpAsync => (8, 64, [8, 64]),
            _ => (16, 64, [16, 64]),
        };
        Self {
            kind: case.kind,
            stages: case.stages,
            threads: case.threads,
            rows,
            columns,
            tile,
        }
    }

    fn sizes(&self) -> [usize; 3] {
        [self.stages, self.rows, self.columns]
    }

    /// The slot of tile `i`, and its first row.
    fn place(&self, text: &mut Text, i: &str) -> (String, String) {
        let (stages, rows) = (text.constant(self.stages), text.constant(self.rows));
        (text.index("remui", i, &stages), text.index("muli", i, &rows))
    }

    /// A slot of a buffer.
    fn slot(&self, text: &mut Text, buffer: &str, slots: usize, slot: &str) -> String {
        let (rows, columns) = (self.rows, self.columns);
        let from = buffer_type(&[slots, rows, columns]);
        let to = part_type(&[rows, columns]);
        text.def(format!(
            "memref.subview {buffer}[{slot}, 0, 0] [1, {rows}, {columns}] [1, 1, 1] : {from} to {to}"
        ))
    }

    /// Writes the loads of tile `i` of the panel at `column`.
    fn issue(&self, text: &mut Text, column: &str, i: &str) -> Vec<String> {
        let (slot, row) = self.place(text, i);
        let to = self.slot(text, "%ring", self.stages, &slot);
        let (tile, part) = (tile_type(&self.tile), part_type(&[self.rows, self.columns]));
        let token = text.def(format!(
            "gpux.tma_load async %x[{row}, {column}], {to} : {tile}, {part}"
        ));
        if self.kind == Kind::PointwiseCpAsync {
            let copied = self.copies(text, column, &slot, &row);
            return vec![token, copied];
        }
        vec![token]
    }

    /// Each thread copies some of the tile; rows beyond the last one are that one again.
    fn copies(&self, text: &mut Text, column: &str, slot: &str, row: &str) -> String {
        let buffer = buffer_type(&self.sizes());
        let across = self.columns / COPY;
        let at_once = self.threads / across;
        let (across, lanes) = (text.constant(across), text.constant(COPY));
        let lane = text.index("remui", "%thread", &across);
        let inner = text.index("muli", &lane, &lanes);
        let first = text.index("divui", "%thread", &across);
        let from_column = text.index("addi", column, &inner);
        let one = text.constant(1);
        let last = text.index("subi", "%rows", &one);
        let mut tokens = Vec::new();
        for step in (0..self.rows).step_by(at_once) {
            let step = text.constant(step);
            let r = text.index("addi", &first, &step);
            let beyond = text.index("addi", row, &r);
            let from = text.index("minui", &beyond, &last);
            tokens.push(text.def(format!(
                "gpux.copy async %y[{from}, {from_column}], %copied[{slot}, {r}, {inner}], {COPY} : {GLOBAL} to {buffer}"
            )));
        }
        text.def(format!("async.join {}", tokens.join(", ")))
    }

    /// Writes the thread's part of tile `i`.
    fn body(&self, text: &mut Text, column: &str, i: &str, carried: &[String]) -> Vec<String> {
        let (slot, row) = self.place(text, i);
        let out = (self.kind == Kind::TmaStore).then(|| {
            // The buffer was handed out two tiles ago.
            text.line(format!("async.await {}", carried[0]));
            let two = text.constant(2);
            text.index("remui", i, &two)
        });
        let mine = text.index("addi", column, "%lane");
        let (rows, step) = (
            text.constant(self.rows),
            text.constant(self.threads * LANES / self.columns),
        );
        text.for_loop(("%top", &rows, &step), &[], |text, r, _| {
            let buffer = buffer_type(&self.sizes());
            let at = text.index("addi", &row, r);
            if let Some(out) = &out {
                // Rows beyond the end are zeros, and are not stored.
                let v = text.def(format!(
                    "vector.load %ring[{slot}, {r}, %lane] : {buffer}, vector<{LANES}xf32>"
                ));
                let sum = text.def(format!("arith.addf {v}, {v} : vector<{LANES}xf32>"));
                let to = buffer_type(&[2, self.rows, self.columns]);
                text.line(format!(
                    "vector.store {sum}, %out[{out}, {r}, %lane] : {to}, vector<{LANES}xf32>"
                ));
                return Vec::new();
            }
            let inside = text.less(&at, "%rows");
            text.if_then(&inside, |text| self.add(text, &slot, r, &format!("{at}, {mine}")));
            Vec::new()
        });
        let Some(out) = out else { return carried.to_vec() };
        let from = self.slot(text, "%out", 2, &out);
        let (tile, part) = (tile_type(&self.tile), part_type(&[self.rows, self.columns]));
        let (read, done) = text.pair(format!(
            "gpux.tma_store async {from}, %z[{row}, {column}] : {part}, {tile}"
        ));
        let all = text.def(format!("async.join {}, {done}", carried[2]));
        vec![carried[1].clone(), read, all]
    }

    /// Adds up what the kind adds up, and stores it.
    fn add(&self, text: &mut Text, slot: &str, r: &str, at: &str) {
        let buffer = buffer_type(&self.sizes());
        let vector = format!("vector<{LANES}xf32>");
        let load = |text: &mut Text, from: &str, kind: &str| {
            text.def(format!("vector.load {from} : {kind}, {vector}"))
        };
        let mut sum = load(text, &format!("%ring[{slot}, {r}, %lane]"), &buffer);
        let more: &[(String, &str)] = match self.kind {
            Kind::Several => &[],
            Kind::PointwiseCpAsync => &[
                (format!("%copied[{slot}, {r}, %lane]"), &buffer),
                (format!("%w[{at}]"), GLOBAL),
            ],
            _ => &[(format!("%y[{at}]"), GLOBAL)],
        };
        for (from, kind) in more {
            let next = load(text, from, kind);
            sum = text.def(format!("arith.addf {sum}, {next} : {vector}"));
        }
        text.line(format!("vector.store {sum}, %z[{at}] : {GLOBAL}, {vector}"));
    }

    /// The parameters, the arguments, and which of them has what afterwards.
    fn interface(&self, case: &Case) -> (String, Vec<Arg>, (usize, Vec<f32>)) {
        let sizes = [case.outer, case.inner];
        let count = case.outer * case.inner;
        let tile = tile_type(&self.tile);
        let [x, y, w] = [1, 2, 3].map(|seed| numbers(count, seed));
        let add = |more: &[&[f32]]| {
            (0..count)
                .map(|i| x[i] + more.iter().map(|m| m[i]).sum::<f32>())
                .collect()
        };
        let input = |data: &[f32]| Arg::of(&sizes, data);
        let (mut parameters, mut args, expected) = match self.kind {
            Kind::TmaStore => (
                format!("%x: {tile}, %z: {tile}"),
                vec![input(&x)],
                (1, add(&[&x])),
            ),
            Kind::Several => (
                format!("%x: {tile}, %z: {GLOBAL}"),
                vec![input(&x)],
                (1, x.clone()),
            ),
            Kind::PointwiseCpAsync => (
                format!("%x: {tile}, %y: {GLOBAL}, %w: {GLOBAL}, %z: {GLOBAL}"),
                vec![input(&x), input(&y), input(&w)],
                (3, add(&[&y, &w])),
            ),
            _ => (
                format!("%x: {tile}, %y: {GLOBAL}, %z: {GLOBAL}"),
                vec![input(&x), input(&y)],
                (2, add(&[&y])),
            ),
        };
        parameters += ", %rows: index, %panels: index";
        args.extend([
            Arg::zero(&sizes),
            Arg::Index(case.outer),
            Arg::Index(PANELS.min(case.inner / self.columns)),
        ]);
        (parameters, args, expected)
    }
}

/// The kernel of a case.
pub fn kernel(case: &Case) -> Kernel {
    let panel = Panel::new(case);
    let mut text = Text::default();
    header(&mut text, &panel);
    let (blocks, mbarriers);
    if case.kind == Kind::Persistent {
        // Of unknown number: block b does panels b, b + gridDim.x, ....
        blocks = 2;
        let step = text.def("gpu.grid_dim x");
        let mut inside = 0;
        text.for_loop(("%block", "%panels", &step), &[], |text, panel_number, _| {
            let columns = text.constant(panel.columns);
            let column = text.index("muli", panel_number, &columns);
            inside = rows(text, case, &panel, &column);
            Vec::new()
        });
        mbarriers = inside;
    } else {
        blocks = case.inner / panel.columns;
        let columns = text.constant(panel.columns);
        let column = text.index("muli", "%block", &columns);
        mbarriers = rows(&mut text, case, &panel, &column);
    }
    let (parameters, args, expected) = panel.interface(case);
    let (inner, columns, persistent) = (case.inner, panel.columns, case.kind == Kind::Persistent);
    let ring = buffer_type(&panel.sizes());
    let workgroup = match case.kind {
        Kind::PointwiseCpAsync => format!("%ring: {ring}, %copied: {ring}"),
        Kind::TmaStore => {
            let out = buffer_type(&[2, panel.rows, panel.columns]);
            format!("%ring: {ring}, %out: {out}")
        }
        _ => format!("%ring: {ring}"),
    };
    Kernel {
        source: text.kernel("", &parameters, &workgroup, case.threads),
        blocks,
        args,
        owner: Box::new(move |i| match i % inner / columns {
            // Two blocks share some panels, and nobody has the others.
            panel if persistent => panel / PANELS * 2,
            panel => panel,
        }),
        expected,
        mbarriers,
    }
}

/// The pipelined loop over the rows of a panel; returns how many mbarriers it takes.
fn rows(text: &mut Text, case: &Case, panel: &Panel, column: &str) -> usize {
    let issue = |text: &mut Text, i: &str| panel.issue(text, column, i);
    let body = |text: &mut Text, i: &str, carried: &[String], _: bool| panel.body(text, column, i, carried);
    let mut ring = ring(case, "%tiles", &issue, &body);
    if case.kind == Kind::PointwiseCpAsync {
        ring.tokens = 2;
        ring.copies = true;
    }
    let carried: Vec<Value> = if case.kind == Kind::TmaStore {
        // Two buffers that nothing was stored from, and nothing that was stored.
        (0..3).map(|_| Value::token(text.def("async.ready"))).collect()
    } else {
        Vec::new()
    };
    let left = ring.emit(text, &carried);
    if let Some(all) = left.last() {
        text.line(format!("async.await {}", all.name));
    }
    ring.mbarriers()
}

/// Where the thread's vectors begin in a tile, and how many tiles there are.
fn header(text: &mut Text, panel: &Panel) {
    let (across, lanes, rows) = (
        text.constant(panel.columns / LANES),
        text.constant(LANES),
        text.constant(panel.rows),
    );
    text.line("%thread = gpu.thread_id x");
    let lane = text.index("remui", "%thread", &across);
    text.line(format!("%lane = arith.muli {lane}, {lanes} : index"));
    text.line(format!("%top = arith.divui %thread, {across} : index"));
    text.line(format!("%tiles = arith.ceildivui %rows, {rows} : index"));
}
