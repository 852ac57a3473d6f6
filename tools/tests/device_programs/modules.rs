//! Random programs in nested modules, and launches with arguments of any types, through `--gpux-host-to-runtime`: what comes out is valid, and what
//! has no counterpart is an error that says so.

use super::{config, piped, source, statements};
use proptest::prelude::*;
use std::fmt::Write;

/// Types of arguments that kernels can be launched with.
const TYPES: [&str; 14] = [
    "i1",
    "i8",
    "i64",
    "i128",
    "index",
    "f16",
    "bf16",
    "f64",
    "complex<f32>",
    "vector<4xf16>",
    "vector<2x3xi8>",
    "memref<4xf32>",
    "memref<?x3xi16, strided<[?, 1], offset: ?>, 1>",
    "memref<complex<f64>, 1>",
];

/// And those that they can't be launched with.
const UNKNOWN: [&str; 4] = [
    "!nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>",
    "!nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>",
    "tuple<i32, f32>",
    "memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>",
];

/// A program that launches a kernel with its own arguments.
fn launch(types: &[&str]) -> String {
    let names: Vec<String> = (0..types.len()).map(|number| format!("%a{number}")).collect();
    let params: Vec<String> = names
        .iter()
        .zip(types)
        .map(|(name, ty)| format!("{name}: {ty}"))
        .collect();
    let (params, names, types) = (params.join(", "), names.join(", "), types.join(", "));
    format!(
        "module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
gpu.func @kernel({params}) kernel {{
gpu.return
}}
}}
func.func @main({params}) {{
%one = arith.constant 1 : index
%token = gpux.async_launch async @kernels::@kernel blocks (%one, %one, %one) threads (%one, %one, %one) args({names} : {types})
async.await %token
return
}}
}}"
    )
}

/// Programs, each in a module in that of the one before.
fn nested(programs: &[String]) -> String {
    // Names of types are for the whole file.
    let is_name = |line: &&str| line.starts_with('!');
    let names: Vec<&str> = programs
        .iter()
        .flat_map(|text| text.lines())
        .filter(is_name)
        .collect();
    let mut text = format!("{}\n", names[..names.len() / programs.len()].join("\n"));
    for program in programs {
        let lines: Vec<&str> = program.lines().filter(|line| !is_name(line)).collect();
        writeln!(
            text,
            "module attributes {{gpu.container_module}} {{\n{}",
            lines.join("\n")
        )
        .unwrap();
    }
    text + &"}\n".repeat(programs.len())
}

proptest! {
    #![proptest_config(config(12))]
    #[test]
    fn programs_in_nested_modules_are_lowered_with_what_they_need(programs in prop::collection::vec(statements(), 1..4)) {
        let programs: Vec<String> = programs.iter().map(|stmts| source(stmts)).collect();
        let source = nested(&programs);
        for pass in ["--gpux-host-to-runtime", "--async-lower-to-cpu"] {
            let (_, errors, good) = piped(env!("CARGO_BIN_EXE_async-opt"), &[pass], &source);
            prop_assert!(good, "{pass}: {errors}\n{source}");
        }
    }

    #[test]
    fn launches_take_arguments_of_any_type_or_are_refused(
        known in prop::collection::vec(prop::sample::select(&TYPES[..]), 1..6),
        unknown in prop::option::of(prop::sample::select(&UNKNOWN[..])),
        place: prop::sample::Index,
    ) {
        let mut types = known;
        if let Some(unknown) = unknown {
            types.insert(place.index(types.len() + 1), unknown);
        }
        let source = launch(&types);
        let (_, errors, good) = piped(env!("CARGO_BIN_EXE_async-opt"), &["--gpux-host-to-runtime"], &source);
        prop_assert_eq!(good, unknown.is_none(), "{}\n{}", errors, source);
        let says_so = errors.contains("', which has no counterpart in LLVM") && !errors.contains("bug in async-opt");
        prop_assert!(good || says_so, "{errors}\n{source}");
    }
}
