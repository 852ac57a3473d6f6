//! Faults planted into kernels that wait for mbarriers: each is reported.
//!
//! `cargo test -p async-sim --test mbarrier_mutations -- --nocapture` prints them all, and the table of docs/async-sim.md.
#![allow(missing_docs)]

mod kernel;

use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use async_sim::scalar::from_f64;
use async_sim::value::Elem;
use kernel::{Call, Outcome, context, lower, run};

/// Threads fill a buffer, which a bulk store takes away; tiles come through a ring of three slots, which are armed again
/// after a block barrier.
const BARRIERS: &str = include_str!("kernels/ring_with_barriers.mlir");
/// The same ring, armed again after mbarriers on which the readers arrive.
const EMPTY: &str = include_str!("kernels/ring_with_empty_mbarriers.mlir");

/// A fault: what is replaced by what, and what is to be reported of it.
struct Fault {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    reported: &'static str,
}

const fn fault(name: &'static str, from: &'static str, to: &'static str, reported: &'static str) -> Fault {
    Fault {
        name,
        from,
        to,
        reported,
    }
}

const IN_BOTH: [Fault; 11] = [
    fault(
        "arrival dropped",
        "nvgpu.mbarrier.arrive.expect_tx %full[%slot], %bytes : !ring",
        "%a = nvgpu.mbarrier.get %full[%slot] : !ring -> i64 %p = llvm.inttoptr %a : i64 to !llvm.ptr<3> \
         %tx = arith.index_cast %bytes : index to i32 nvvm.mbarrier.expect_tx %p, %tx : !llvm.ptr<3>, i32",
        "waits forever for phase 0",
    ),
    fault(
        "16 bytes too many expected",
        "%bytes = arith.constant 1024",
        "%bytes = arith.constant 1040",
        "expects 16 bytes more than the copies on it bring",
    ),
    fault(
        "16 bytes too few expected",
        "%bytes = arith.constant 1024",
        "%bytes = arith.constant 1008",
        "bring 16 bytes more than it expects",
    ),
    fault(
        "parity flipped",
        "%parity = arith.cmpi eq, %odd, %c1 : index",
        "%parity = arith.cmpi ne, %odd, %c1 : index",
        "race: memref.load",
    ),
    fault(
        "mbarrier waited for shifted by one",
        "nvgpu.mbarrier.try_wait.parity %full[%slot]",
        "nvgpu.mbarrier.try_wait.parity %full[%next]",
        "race: memref.load",
    ),
    fault(
        "slot of the load shifted by one",
        "gpux.tma_load %x[%row, %c0], %at,",
        "gpux.tma_load %x[%row, %c0], %at_next,",
        "race",
    ),
    fault(
        "mbarrier of the load shifted by one",
        "%at, %full[%slot] : !tile",
        "%at, %full[%next] : !tile",
        "bring 1024 bytes more than it expects",
    ),
    fault(
        "wait dropped",
        "nvgpu.mbarrier.try_wait.parity %full[%slot], %parity, %ticks : !ring",
        "",
        "race: memref.load",
    ),
    fault(
        "fence after the initialization dropped",
        "nvvm.fence.mbarrier.init",
        "",
        "was initialized by another thread",
    ),
    fault(
        "barrier after the initialization dropped",
        "gpu.barrier // Initialised.",
        "",
        "was initialized by another thread",
    ),
    fault(
        "initialized for two arrivals",
        "nvgpu.mbarrier.init %full[%i], %c1",
        "nvgpu.mbarrier.init %full[%i], %c2",
        "1 of its 2 arrivals are missing",
    ),
];

const WITH_BARRIERS: [Fault; 4] = [
    fault(
        "barrier before a slot is armed again dropped",
        "gpu.barrier // Read.",
        "",
        "nothing orders the two",
    ),
    fault(
        "proxy fence dropped",
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
        "",
        "missing fence",
    ),
    fault(
        "barrier before the store dropped",
        "gpu.barrier // Written.",
        "",
        "race: memref.store",
    ),
    fault(
        "barrier before the invalidation dropped",
        "gpu.barrier // Seen.",
        "",
        "was invalidated before",
    ),
];

const WITH_EMPTY: [Fault; 3] = [
    fault(
        "arrival of the readers dropped",
        "%token = nvgpu.mbarrier.arrive %empty[%slot] : !ring -> !nvgpu.mbarrier.token",
        "",
        "waits forever for phase 0",
    ),
    fault(
        "wait for the readers dropped",
        "nvgpu.mbarrier.try_wait.parity %empty[%slot], %parity, %ticks : !ring",
        "",
        "nothing orders the two",
    ),
    fault(
        "readers arrive before they read",
        "func.call @column(%buf, %slot, %i, %y) : (!slots, index, index, memref<8x64xf16>) -> ()\n      \
         %token = nvgpu.mbarrier.arrive %empty[%slot] : !ring -> !nvgpu.mbarrier.token",
        "%token = nvgpu.mbarrier.arrive %empty[%slot] : !ring -> !nvgpu.mbarrier.token\n      \
         func.call @column(%buf, %slot, %i, %y) : (!slots, index, index, memref<8x64xf16>) -> ()",
        "race: gpux.tma_load",
    ),
];

fn buffer(sizes: &[i64], fill: Fill) -> Argument {
    Argument::Buffer {
        sizes: sizes.to_vec(),
        fill,
    }
}

/// Each number is that of its column, so that sums are exact.
fn columns() -> Fill {
    let number = |i: u32| from_f64(Elem::F16, f64::from(i % 64)).to_le_bytes();
    Fill::Bytes {
        bytes: (0..64 * 64).flat_map(|i| [number(i)[0], number(i)[1]]).collect(),
        kind: "<f2".into(),
    }
}

fn call() -> Call {
    Call {
        arguments: vec![
            Some(buffer(&[64, 64], columns())),
            Some(buffer(&[8, 64], Fill::Zero)),
            Some(buffer(&[64], Fill::Zero)),
        ],
        budget: 1 << 16,
        ..Call::of(64)
    }
}

/// What is reported of a kernel, under all schedules that are asked for.
fn runs(source: &str, adversary: Adversary) -> Outcome {
    run(&context(), source, &call(), adversary)
}

#[test]
fn the_kernels_are_right() {
    for source in [BARRIERS, EMPTY] {
        for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(7)] {
            let outcome = runs(source, adversary);
            assert!(outcome.is_clean(), "{}", outcome.findings);
            // Row i of the result has the sums of rows 8i to 8i + 7, whose numbers are those of their columns.
            let row: Vec<u8> = outcome.memory[1][128..256].to_vec();
            assert_eq!(row, outcome.memory[1][..128]);
            assert_eq!(row[2..4], 0x4800_u16.to_le_bytes(), "8 times 1");
        }
    }
}

#[test]
fn every_fault_is_reported() {
    let mut survivors = Vec::new();
    let tables = [
        ("barriers", BARRIERS, IN_BOTH.iter().chain(&WITH_BARRIERS)),
        ("empty mbarriers", EMPTY, IN_BOTH.iter().chain(&WITH_EMPTY)),
    ];
    for (kernel, source, faults) in tables {
        for fault in faults {
            assert!(
                source.contains(fault.from),
                "{kernel}: nothing to plant: {}",
                fault.name
            );
            let outcome = runs(&source.replace(fault.from, fault.to), Adversary::Late);
            let first = outcome.findings.lines().next().unwrap_or("nothing");
            println!("| {} | {kernel} | {first} |", fault.name);
            if outcome.is_clean() || !outcome.findings.contains(fault.reported) {
                survivors.push(format!("{kernel}: {}: {}", fault.name, outcome.findings));
            }
        }
    }
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}

/// What is done to a program that the passes have made: to one line of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Drop(&'static str),
    /// The wait is for the other parity.
    Flip,
    /// The wait lets one more group stay in flight.
    Relax,
}

/// The examples that load by mbarriers, and how they are called: with as many tiles as show all that they do.
fn examples() -> [(&'static str, &'static str, Call); 3] {
    let call = |grid, arguments| Call {
        grid,
        arguments,
        dynamic_workgroup: 65536,
        ..Call::of(128)
    };
    let random = |rows, columns| Some(buffer(&[rows, columns], Fill::Random));
    let zero = |rows, columns| Some(buffer(&[rows, columns], Fill::Zero));
    [
        (
            "tma_reduction",
            include_str!("../../../examples/tma_reduction.mlir"),
            call([1, 1, 1], vec![random(100, 64), zero(100, 64), zero(1, 64)]),
        ),
        (
            "mixed_pointwise",
            include_str!("../../../examples/mixed_pointwise.mlir"),
            call(
                [1, 1, 1],
                vec![random(100, 64), random(100, 64), random(100, 64), zero(100, 64)],
            ),
        ),
        (
            "gemm_sm90",
            include_str!("../../../bench/gpu/reference/gemm_sm90.mlir"),
            call(
                [1, 1, 1],
                vec![
                    random(128, 192),
                    random(192, 128),
                    zero(128, 128),
                    Some(Argument::Integer(192)),
                ],
            ),
        ),
    ]
}

/// The columns of the table.
const CHANGES: [(&str, Change); 9] = [
    ("wait dropped", Change::Drop("nvgpu.mbarrier.try_wait.parity")),
    ("parity flipped", Change::Flip),
    (
        "expected bytes dropped",
        Change::Drop("nvgpu.mbarrier.arrive.expect_tx"),
    ),
    ("arrival dropped", Change::Drop("nvgpu.mbarrier.arrive %")),
    ("barrier dropped", Change::Drop("gpu.barrier")),
    (
        "fence of the initialization dropped",
        Change::Drop("nvvm.fence.mbarrier.init"),
    ),
    ("proxy fence dropped", Change::Drop("nvvm.fence.proxy")),
    ("group's wait dropped", Change::Drop("gpux.wait_group")),
    ("group's wait relaxed", Change::Relax),
];

impl Change {
    /// What a line becomes; `None` if it is not one that this is done to.
    fn plant(self, line: &str) -> Option<String> {
        match self {
            Self::Drop(what) => line.contains(what).then(String::new),
            Self::Flip => {
                let (start, rest) = line.split_once("nvgpu.mbarrier.try_wait.parity ")?;
                let (slot, rest) = rest.split_once("], ")?;
                let (parity, rest) = rest.split_once(", ")?;
                // On one line, so that all others keep their numbers.
                Some(format!(
                    "{start}%one = arith.constant true %other = arith.xori {parity}, %one : i1 \
                     nvgpu.mbarrier.try_wait.parity {slot}], %other, {rest}"
                ))
            }
            Self::Relax => {
                let (start, rest) = line.split_once("gpux.wait_group <")?;
                let (queue, rest) = rest.split_once(">, ")?;
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let n: u32 = rest[..end].parse().ok()?;
                Some(format!(
                    "{start}gpux.wait_group <{queue}>, {}{}",
                    n + 1,
                    &rest[end..]
                ))
            }
        }
    }
}

/// What is no fault in these programs, and why.
const HARMLESS: [(&[&str], &str); 3] = [
    (
        &[
            "mixed_pointwise",
            "group's wait",
            "<cp_async>, 0 before gpux.wait_group <bulk>",
        ],
        "an await of copies that nobody reads",
    ),
    (
        &["gemm_sm90", "gpu.barrier before %view"],
        "the program's own barrier, and after it comes the one before the invalidation",
    ),
    (
        &["gemm_sm90", "gpu.barrier before gpu.return"],
        "nothing comes after it that others would have to know of the store",
    ),
];

#[test]
fn faults_in_what_the_passes_make_are_reported() {
    let context = context();
    let names: Vec<&str> = CHANGES.iter().map(|(name, _)| *name).collect();
    println!("| | {} |", names.join(" | "));
    let mut survivors = Vec::new();
    for (example, source, call) in examples() {
        for war in ["barrier", "mbarrier"] {
            let pipeline = format!(
                "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers{{war={war}}},gpux-tokens-to-groups)))"
            );
            let lowered = lower(&context, source, &pipeline);
            let lines: Vec<&str> = lowered.lines().collect();
            assert!(run(&context, &lowered, &call, Adversary::Late).is_clean());
            let mut cells = Vec::new();
            for (name, change) in CHANGES {
                let (mut caught, mut tried) = (0, 0);
                for (i, line) in lines.iter().enumerate() {
                    let Some(changed) = change.plant(line) else {
                        continue;
                    };
                    let mut mutant = lines.clone();
                    mutant[i] = &changed;
                    tried += 1;
                    if run(&context, &mutant.join("\n"), &call, Adversary::Late).is_clean() {
                        let next = lines.get(i + 1).map_or("", |line| line.trim());
                        survivors.push(format!(
                            "{example}, war={war}: {name}: {} before {next}",
                            line.trim()
                        ));
                    } else {
                        caught += 1;
                    }
                }
                cells.push(if tried == 0 {
                    "–".to_owned()
                } else {
                    format!("{caught} of {tried}")
                });
            }
            println!("| `{example}`, {war} | {} |", cells.join(" | "));
        }
    }
    let is = |survivor: &String, parts: &[&str]| parts.iter().all(|part| survivor.contains(part));
    for survivor in &survivors {
        println!("{survivor}");
        assert!(
            HARMLESS.iter().any(|(parts, _)| is(survivor, parts)),
            "goes unnoticed: {survivor}"
        );
    }
    for (parts, _) in HARMLESS {
        let needed = survivors.iter().any(|survivor| is(survivor, parts));
        assert!(needed, "nothing like {parts:?} survives any more");
    }
}
