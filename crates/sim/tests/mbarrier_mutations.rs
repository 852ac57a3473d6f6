//! Faults planted into kernels that wait for mbarriers: each is reported.
//!
//! `cargo test -p async-sim --test mbarrier_mutations -- --nocapture` prints the table of docs/async-sim.md.
#![allow(missing_docs)]

mod kernel;

use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use kernel::{Call, Outcome, context, run};

/// Threads fill a buffer, which a bulk store takes away; tiles come through a ring of three slots, which are armed again
/// behind a block barrier.
const BARRIERS: &str = include_str!("kernels/ring_with_barriers.mlir");
/// The same ring, armed again behind mbarriers on which the readers arrive.
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
        "",
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
        "",
    ),
    fault(
        "wait dropped",
        "nvgpu.mbarrier.try_wait.parity %full[%slot], %parity, %ticks : !ring",
        "",
        "race: memref.load",
    ),
    fault(
        "fence behind the initialisation dropped",
        "nvvm.fence.mbarrier.init",
        "",
        "was initialised by another thread",
    ),
    fault(
        "barrier behind the initialisation dropped",
        "gpu.barrier // Initialised.",
        "",
        "was initialised by another thread",
    ),
    fault(
        "initialised for two arrivals",
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

fn call() -> Call {
    let buffer = |sizes: &[i64], fill| {
        Some(Argument::Buffer {
            sizes: sizes.to_vec(),
            fill,
        })
    };
    Call {
        arguments: vec![
            buffer(&[64, 64], Fill::Ramp),
            buffer(&[8, 64], Fill::Zero),
            buffer(&[64], Fill::Zero),
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
