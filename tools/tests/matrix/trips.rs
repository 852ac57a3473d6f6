//! Trip counts: rings in every kind of control flow, with fewer, as many and more tiles than the ring has slots.

use crate::check;
use crate::describe::THREADS;
use crate::helper;
use crate::kernels::{Arg, Kernel, buffer_type, numbers, part_type, tile_type};
use crate::ring::{Loop, Order, Ring, Tail};
use crate::text::Text;

/// The rows of a tile; it has a column for each thread.
const ROWS: usize = 2;
/// How deep rings of tiles are.
const STAGES: [usize; 3] = [2, 3, 4];

/// What is around the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Nothing.
    Plain,
    /// A loop of unknown trip count.
    InFor,
    /// The ring itself is an `scf.while`.
    While,
    /// An `scf.while`.
    InWhile,
    /// An `scf.if`.
    InIf,
}

impl Flow {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Plain, Self::InFor, Self::While, Self::InWhile, Self::InIf];

    /// How often the ring is run, of which nothing is known before.
    fn times(self) -> &'static [usize] {
        match self {
            Self::Plain | Self::While => &[1],
            Self::InFor | Self::InWhile => &[0, 1, 2, 3],
            Self::InIf => &[0, 1],
        }
    }
}

/// A ring, which is run with many trip counts.
#[derive(Clone, Copy, Debug)]
pub struct Trips {
    flow: Flow,
    stages: usize,
    prefetch: usize,
    threads: usize,
    order: Order,
    tail: Tail,
}

impl Trips {
    /// What it is called in a message.
    pub fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// The cases of a flow: all, or one for each pair of stages and prefetch.
pub fn cases(flow: Flow, all: bool) -> Vec<Trips> {
    let mut cases = Vec::new();
    let mut number = Flow::ALL.iter().position(|&other| other == flow).unwrap_or(0);
    for stages in STAGES {
        for prefetch in 0..stages {
            for (v, (order, tail)) in VARIANTS.into_iter().enumerate() {
                // Without tiles ahead there is one order, and no tail.
                if if prefetch == 0 {
                    v == 0
                } else {
                    all || v == number % VARIANTS.len()
                } {
                    cases.push(Trips {
                        flow,
                        stages,
                        prefetch,
                        threads: THREADS[number % 2],
                        order,
                        tail,
                    });
                }
            }
            number += 1;
        }
    }
    cases
}

const VARIANTS: [(Order, Tail); 4] = [
    (Order::AwaitFirst, Tail::Guarded),
    (Order::LoadFirst, Tail::Split),
    (Order::LoadFirst, Tail::Guarded),
    (Order::AwaitFirst, Tail::Split),
];

/// Runs a ring with all trip counts, as arguments and as constants, and assembles it.
///
/// # Errors
///
/// Where a check fails.
pub fn check(trips: &Trips) -> Result<(), String> {
    let counts = [0, 1, trips.stages - 1, trips.stages, trips.stages + 1];
    let (source, mbarriers) = kernel(trips, None);
    let context = helper::context();
    let forms = check::forms(&context, &source, Some(mbarriers))?;
    for count in counts {
        run(&context, &forms, trips, count).map_err(|error| format!("{count} tiles: {error}"))?;
    }
    check::assemble(&context, &source)?;
    for count in counts {
        // Of a loop whose trip count is known, fewer phases may be live together.
        let (source, _) = kernel(trips, Some(count));
        let forms = check::forms(&context, &source, None)?;
        run(&context, &forms, trips, count)
            .map_err(|error| format!("{count} tiles, which is known: {error}"))?;
    }
    Ok(())
}

fn run(
    context: &async_mlir::melior::Context,
    forms: &[check::Form],
    trips: &Trips,
    count: usize,
) -> Result<(), String> {
    let threads = trips.threads;
    for &times in trips.flow.times() {
        // Tensors have a row at least.
        let rows = (times * count * ROWS).max(1);
        let (x, done) = (numbers(rows * threads, 1), times * count * ROWS * threads);
        let mut expected = vec![0.0; x.len()];
        expected[..done].copy_from_slice(&x[..done]);
        let kernel = Kernel {
            source: String::new(),
            blocks: 1,
            owner: Box::new(|_| 0),
            args: vec![
                Arg::of(&[rows, threads], &x),
                Arg::zero(&[rows, threads]),
                Arg::Index(count),
                Arg::Index(times),
            ],
            expected: (1, expected),
            mbarriers: 0,
        };
        check::run(context, forms, &kernel).map_err(|error| format!("{times} times: {error}"))?;
    }
    Ok(())
}

/// The kernel, whose number of tiles is an argument or known, and how many mbarriers it takes.
fn kernel(trips: &Trips, known: Option<usize>) -> (String, usize) {
    let threads = trips.threads;
    let mut text = Text::default();
    text.line("%thread = gpu.thread_id x");
    let tiles = known.map_or("%count".to_owned(), |count| text.constant(count));
    let (zero, one) = (text.constant(0), text.constant(1));
    let mut mbarriers = 0;
    match trips.flow {
        Flow::Plain | Flow::While => mbarriers = ring(&mut text, trips, &tiles, &zero),
        Flow::InFor => {
            text.for_loop((&zero, "%times", &one), &[], |text, i, _| {
                mbarriers = ring(text, trips, &tiles, i);
                Vec::new()
            });
        }
        Flow::InWhile => {
            text.while_loop("%times", &[], |text, i, _| {
                mbarriers = ring(text, trips, &tiles, i);
                Vec::new()
            });
        }
        Flow::InIf => {
            let any = text.less(&zero, "%times");
            text.if_then(&any, |text| mbarriers = ring(text, trips, &tiles, &zero));
        }
    }
    let parameters = format!(
        "%x: {}, %y: memref<?x{threads}xf32>, %count: index, %times: index",
        tile_type(&[ROWS, threads])
    );
    let workgroup = format!("%ring: {}", buffer_type(&[trips.stages, ROWS, threads]));
    (text.kernel("", &parameters, &workgroup, threads), mbarriers)
}

/// The pipelined loop, for the time `time`; it adds `x` to `y`, so that each tile has to come once.
fn ring(text: &mut Text, trips: &Trips, tiles: &str, time: &str) -> usize {
    let threads = trips.threads;
    let buffer = buffer_type(&[trips.stages, ROWS, threads]);
    let (tile, part) = (tile_type(&[ROWS, threads]), part_type(&[ROWS, threads]));
    let before = text.index("muli", time, tiles);
    let place = |text: &mut Text, i: &str| {
        let (stages, rows) = (text.constant(trips.stages), text.constant(ROWS));
        let slot = text.index("remui", i, &stages);
        let number = text.index("addi", &before, i);
        (slot, text.index("muli", &number, &rows))
    };
    let issue = |text: &mut Text, i: &str| {
        let (slot, row) = place(text, i);
        let zero = text.constant(0);
        let to = text.def(format!(
            "memref.subview %ring[{slot}, 0, 0] [1, {ROWS}, {threads}] [1, 1, 1] : {buffer} to {part}"
        ));
        vec![text.def(format!(
            "gpux.tma_load async %x[{row}, {zero}], {to} : {tile}, {part}"
        ))]
    };
    let body = |text: &mut Text, i: &str, _: &[String], _: bool| {
        let (slot, row) = place(text, i);
        for r in 0..ROWS {
            let r = text.constant(r);
            let at = text.index("addi", &row, &r);
            let global = format!("%y[{at}, %thread] : memref<?x{threads}xf32>");
            let v = text.def(format!("memref.load %ring[{slot}, {r}, %thread] : {buffer}"));
            let old = text.def(format!("memref.load {global}"));
            let sum = text.def(format!("arith.addf {old}, {v} : f32"));
            text.line(format!("memref.store {sum}, {global}"));
        }
        Vec::new()
    };
    let ring = Ring {
        prefetch: trips.prefetch,
        order: trips.order,
        tail: trips.tail,
        kind: if trips.flow == Flow::While {
            Loop::While
        } else {
            Loop::For
        },
        tiles,
        full: None,
        tokens: 1,
        copies: false,
        meets: false,
        issue: &issue,
        body: &body,
    };
    ring.emit(text, &[]);
    ring.mbarriers()
}
