//! Kernels as `--gpux-tokens-to-mbarriers` writes them, with their tokens: they are accepted, and refused with anything in them changed.
#![allow(missing_docs)]

use async_dialects::names::gpux;
use async_dialects::registry::register_all_dialects;
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_mlir::names::{gpu, nvgpu};
use async_verify::mbarriers::code::Gathering;
use async_verify::mbarriers::read::{Index, Iterations, read};
use async_verify::mbarriers::{Written, check, verify};

/// Numbers of phases are computed from the iteration.
const CLOSED_FORM: &str = include_str!("kernels/closed_form.mlir");
/// They are counted, on a ring of three.
const COUNTED: &str = include_str!("kernels/counted.mlir");
/// Threads arrive at a ring before slots are armed again.
const GATHERING: &str = include_str!("kernels/gathering.mlir");
/// A warp issues what others use.
const ROLES: &str = include_str!("kernels/roles.mlir");
/// Bytes are expected load by load.
const LOAD_BY_LOAD: &str = include_str!("kernels/load_by_load.mlir");

const ALL: [&str; 5] = [CLOSED_FORM, COUNTED, GATHERING, ROLES, LOAD_BY_LOAD];

/// What `look` finds in a kernel; `None` if it can't be parsed.
fn look<T>(context: &Context, kernel: &str, look: impl FnOnce(&Written) -> T) -> Option<T> {
    let module = Module::parse(context, &format!("gpu.module @m {{\n{kernel}\n}}"))?;
    let (mut function, mut rings, mut loads) = (None, Vec::new(), Vec::new());
    Op::from(module.as_operation()).walk(|op| {
        match op.name() {
            gpu::FUNC => function = Some(op),
            nvgpu::MBARRIER_CREATE => rings.push(op),
            gpux::BULK_LOAD if op.num_results() > 0 => loads.push(op),
            _ => {}
        }
        Walk::Advance
    });
    let written = Written {
        function: function?,
        rings: &rings,
        loads: &loads,
        has_roles: kernel.contains("issuer"),
    };
    Some(look(&written))
}

/// What is wrong with a kernel; nothing if it is accepted.
fn fault(context: &Context, kernel: &str) -> Option<String> {
    let verdict = look(context, kernel, |written| {
        verify(written).map(|_| ()).map_err(|failure| failure.what)
    });
    verdict.map_or_else(|| Some("it can't be parsed".to_owned()), Result::err)
}

/// The rings of a kernel, and how many of them have a certificate.
fn certified(written: &Written) -> (usize, usize) {
    let index = Index::new(written).expect("it can be read");
    let mut certified = 0;
    for &create in written.rings {
        let reading = read(&index, create, &[], Iterations::Some, Gathering::default());
        let outcome = check(&reading.expect("it can be read").code);
        certified += usize::from(outcome.is_ok_and(|(_, outcome)| outcome.certificate.is_some()));
    }
    (written.rings.len(), certified)
}

fn context() -> Context {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    Context::new_with_registry(&registry, false)
}

#[test]
fn what_is_written_is_accepted() {
    for kernel in ALL {
        assert_eq!(fault(&context(), kernel), None, "{kernel}");
    }
}

/// Where only the thread that issues loads arrives, each ring has a certificate.
#[test]
fn what_one_thread_arrives_at_has_a_certificate() {
    let context = context();
    for kernel in [CLOSED_FORM, COUNTED, LOAD_BY_LOAD] {
        let (rings, certified) = look(&context, kernel, certified).expect("it can be parsed");
        assert_eq!(certified, rings, "{kernel}");
    }
    for kernel in [GATHERING, ROLES] {
        let (_, certified) = look(&context, kernel, certified).expect("it can be parsed");
        assert_eq!(certified, 0, "{kernel}");
    }
}

/// Nothing can be left out but the end of mbarriers.
#[test]
fn without_any_operation_it_is_refused() {
    let context = context();
    let left_out = [
        "nvgpu.mbarrier.init",
        "nvvm.fence.mbarrier.init",
        "gpu.barrier",
        "nvgpu.mbarrier.arrive",
        "nvgpu.mbarrier.try_wait.parity",
        "nvvm.mbarrier.expect_tx",
        "scf.if %leader",
    ];
    for kernel in ALL {
        let lines: Vec<&str> = kernel.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            if !left_out.iter().any(|name| line.contains(name)) {
                continue;
            }
            let end = i + if line.contains("scf.if") {
                block(&lines[i..])
            } else {
                1
            };
            let rest = [&lines[..i], &lines[end..]].concat().join("\n");
            // An empty branch does nothing, and mbarriers may last as long as the block.
            let is_nothing = lines[i..end]
                .iter()
                .all(|line| !line.contains("mbarrier.") || line.contains("get"));
            let is_end = lines[i..end].iter().any(|line| line.contains("inval"));
            assert!(
                is_nothing && end > i + 1 || is_end || fault(&context, &rest).is_some(),
                "without line {i}, {line}:\n{rest}"
            );
        }
    }
}

/// How many lines an operation with a region takes.
fn block(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let end = lines[1..]
        .iter()
        .position(|line| indent(line) == indent(lines[0]));
    end.expect("a closing brace") + 2
}

/// No constant that was written is another one: counts, bytes, slots, depths.
#[test]
fn with_any_number_changed_it_is_refused() {
    let context = context();
    for kernel in ALL {
        let (constants, _) = kernel.split_once("gpux.elect").expect("one thread is elected");
        for line in constants.lines().filter(|line| line.contains("arith.constant")) {
            let (name, number) = line.split_once(" = arith.constant ").expect("a constant");
            let (number, ty) = number.split_once(" : ").expect("a type");
            let number: i64 = number.parse().expect("a number");
            // How long a thread sleeps is all the same.
            for other in [number - 1, number + 1]
                .into_iter()
                .filter(|_| number != 10_000_000)
            {
                let spoiled = kernel.replacen(line, &format!("{name} = arith.constant {other} : {ty}"), 1);
                let result = fault(&context, &spoiled);
                assert!(result.is_some(), "{name} is {other}:\n{spoiled}");
            }
        }
    }
}
