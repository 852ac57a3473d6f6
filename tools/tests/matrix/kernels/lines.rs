//! One dimension: each block has some consecutive tiles of a line, and doubles what is in them.

use super::{Arg, Kernel, buffer_type, numbers, part_type, ring, share, tile_type};
use crate::describe::{Case, Kind};
use crate::text::{Text, Value};

/// The tiles of a block.
const SHARE: usize = 32;
/// The elements that a thread takes at once.
const LANES: usize = 8;
/// The loads of a stage that is unrolled.
const FACTOR: usize = 4;

/// What a line looks like.
struct Line {
    tma: bool,
    /// The elements of a tile.
    tile: usize,
    /// The loads of a tile.
    loads: usize,
    /// The threads of a block.
    threads: usize,
    /// True if the result goes out asynchronously.
    stores: bool,
}

impl Line {
    fn new(case: &Case) -> Self {
        let kind = case.kind;
        // What bulk copies take from must be there, so their tiles divide all sizes. Boxes are filled up with zeros.
        let (tma, tile) = match kind {
            Kind::SingleBulk | Kind::SingleBulkUnrolled | Kind::BulkStore => (false, 512),
            _ => (true, 1024),
        };
        let loads = match kind {
            Kind::SingleBulkUnrolled | Kind::SingleTmaUnrolled => FACTOR,
            _ => 1,
        };
        Self {
            tma,
            tile,
            loads,
            threads: case.threads,
            stores: kind == Kind::BulkStore,
        }
    }

    /// Writes the loads of tile `i`.
    fn issue(&self, text: &mut Text, stages: usize, i: &str) -> Vec<String> {
        let (slot, start) = self.place(text, stages, i);
        let length = self.tile / self.loads;
        let ring = buffer_type(&[stages, self.tile]);
        let part = part_type(&[length]);
        let mut tokens = Vec::new();
        for load in 0..self.loads {
            let offset = text.constant(load * length);
            let to = text.def(format!(
                "memref.subview %ring[{slot}, {offset}] [1, {length}] [1, 1] : {ring} to {part}"
            ));
            let from = text.index("addi", &start, &offset);
            tokens.push(if self.tma {
                let tile = tile_type(&[256]);
                text.def(format!("gpux.tma_load async %x[{from}], {to} : {tile}, {part}"))
            } else {
                let global = format!("memref<{length}xf32, strided<[1], offset: ?>>");
                let from = text.def(format!(
                    "memref.subview %x[{from}] [{length}] [1] : memref<?xf32> to {global}"
                ));
                text.def(format!("gpux.bulk_load async {from}, {to} : {global} to {part}"))
            });
        }
        tokens
    }

    /// The slot of tile `i` of the block, and where it begins in the line.
    fn place(&self, text: &mut Text, stages: usize, i: &str) -> (String, String) {
        let (stages, length) = (text.constant(stages), text.constant(self.tile));
        let slot = text.index("remui", i, &stages);
        let tile = text.index("addi", "%first", i);
        (slot, text.index("muli", &tile, &length))
    }

    /// Writes the thread's part of tile `i`, doubled.
    fn body(
        &self,
        text: &mut Text,
        stages: usize,
        i: &str,
        carried: &[String],
        checked: bool,
    ) -> Vec<String> {
        let (slot, start) = self.place(text, stages, i);
        let out = self.stores.then(|| {
            // The buffer was handed out two tiles ago.
            text.line(format!("async.await {}", carried[0]));
            let two = text.constant(2);
            text.index("remui", i, &two)
        });
        let (tile, step) = (text.constant(self.tile), text.constant(self.threads * LANES));
        text.for_loop(("%mine", &tile, &step), &[], |text, at, _| {
            let ring = buffer_type(&[stages, self.tile]);
            let to = text.index("addi", &start, at);
            let double = |text: &mut Text| {
                let v = text.def(format!(
                    "vector.load %ring[{slot}, {at}] : {ring}, vector<{LANES}xf32>"
                ));
                let sum = text.def(format!("arith.addf {v}, {v} : vector<{LANES}xf32>"));
                match &out {
                    Some(out) => {
                        let buffer = buffer_type(&[2, self.tile]);
                        text.line(format!(
                            "vector.store {sum}, %out[{out}, {at}] : {buffer}, vector<{LANES}xf32>"
                        ));
                    }
                    None => text.line(format!(
                        "vector.store {sum}, %y[{to}] : memref<?xf32>, vector<{LANES}xf32>"
                    )),
                }
            };
            if checked && self.tma {
                let inside = text.less(&to, "%total");
                text.if_then(&inside, double);
            } else {
                double(text);
            }
            Vec::new()
        });
        let Some(out) = out else { return Vec::new() };
        let (buffer, part) = (buffer_type(&[2, self.tile]), part_type(&[self.tile]));
        let from = text.def(format!(
            "memref.subview %out[{out}, 0] [1, {}] [1, 1] : {buffer} to {part}",
            self.tile
        ));
        let global = format!("memref<{}xf32, strided<[1], offset: ?>>", self.tile);
        let to = text.def(format!(
            "memref.subview %y[{start}] [{}] [1] : memref<?xf32> to {global}",
            self.tile
        ));
        let (read, done) = text.pair(format!("gpux.bulk_store async {from}, {to} : {part} to {global}"));
        let all = text.def(format!("async.join {}, {done}", carried[2]));
        vec![carried[1].clone(), read, all]
    }
}

/// The kernel of a case.
pub fn kernel(case: &Case) -> Kernel {
    let line = Line::new(case);
    let mut text = Text::default();
    header(&mut text);
    let full = (case.kind == Kind::SingleTmaUnswitched).then(|| full_tiles(&mut text, line.tile));
    let issue = |text: &mut Text, i: &str| line.issue(text, case.stages, i);
    let body = |text: &mut Text, i: &str, carried: &[String], checked: bool| {
        line.body(text, case.stages, i, carried, checked)
    };
    let mut ring = ring(case, "%tiles", &issue, &body);
    ring.tokens = line.loads;
    ring.full = full.as_deref();
    let carried = if line.stores {
        stores(&mut text)
    } else {
        Vec::new()
    };
    let left = ring.emit(&mut text, &carried);
    if let Some(all) = left.last() {
        text.line(format!("async.await {}", all.name));
    }

    let x = if line.tma {
        tile_type(&[256])
    } else {
        "memref<?xf32>".into()
    };
    let parameters = format!("%x: {x}, %y: memref<?xf32>, %total: index, %count: index, %share: index");
    let mut workgroup = format!("%ring: {}", buffer_type(&[case.stages, line.tile]));
    if line.stores {
        workgroup = format!("{workgroup}, %out: {}", buffer_type(&[2, line.tile]));
    }
    let total = case.outer * case.inner;
    let count = total.div_ceil(line.tile);
    let x = numbers(total, 1);
    Kernel {
        source: text.kernel("", &parameters, &workgroup, case.threads),
        blocks: count.div_ceil(SHARE),
        owner: Box::new(move |i| i / (line.tile * SHARE)),
        args: vec![
            Arg::of(&[total], &x),
            Arg::zero(&[total]),
            Arg::Index(total),
            Arg::Index(count),
            Arg::Index(SHARE),
        ],
        expected: (1, x.iter().map(|x| x + x).collect()),
        mbarriers: ring.mbarriers(),
    }
}

/// The block's first tile, and how many it has; where the thread begins in each.
fn header(text: &mut Text) {
    let lanes = text.constant(LANES);
    text.line("%thread = gpu.thread_id x");
    text.line(format!("%mine = arith.muli %thread, {lanes} : index"));
    share(text, "%count");
}

/// How many tiles of the block do not reach beyond the end.
fn full_tiles(text: &mut Text, tile: usize) -> String {
    let tile = text.constant(tile);
    let all = text.index("divui", "%total", &tile);
    let end = text.index("minui", "%end", &all);
    let start = text.index("minui", "%start", &end);
    text.index("subi", &end, &start)
}

/// Two buffers that nothing was stored from, and nothing that was stored.
fn stores(text: &mut Text) -> Vec<Value> {
    (0..3).map(|_| Value::token(text.def("async.ready"))).collect()
}
