//! Damaged input ends in an error message or is accepted; it never ends the tool otherwise.
//!
//! Deterministic: the damage comes from a fixed sequence of numbers, so a failure can be repeated.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

const SOURCE: &str = r#"
#map = affine_map<(d0) -> (d0 * 2)>
func.func @f(%a: memref<64xf32>, %s: memref<64xf32, 3>, %n: index) -> i32 attributes {x = [1, "s", dense<1> : tensor<4xi32>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %first = gpux.copy async %a[%c0], %s[%c0], 4 {bypass_l1} : memref<64xf32> to memref<64xf32, 3>
  %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0, %u = %first) -> (index, !async.token) {
    %v = memref.load %a[%i] : memref<64xf32>
    %w = scf.for %j = %c0 to %c9 step %c1 iter_args(%y = %u) -> !async.token {
      %next = gpux.copy async %a[%j], %s[%j], 1, %n : memref<64xf32> to memref<64xf32, 3>
      async.await %y
      scf.yield %next : !async.token
    }
    scf.yield %i, %w : index, !async.token
  }
  async.await %last
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 3
  %z = arith.index_cast %r : index to i32
  %t = async.region {
    "test.op"() {map = #map} : () -> ()
    async.yield
  }
  async.await %t
  return %z : i32
}
"#;

/// What damaged input goes through: upstream's passes, and ours.
const PASSES: [&[&str]; 2] = [
    &["--canonicalize"],
    &[
        "--async-to-gpux",
        "--gpux-tokens-to-groups=explain",
        "--gpux-groups-to-tokens",
        "--nvgpu-exact-waits",
        "--gpux-to-nvvm",
    ],
];

/// How many damaged files of each kind.
const CASES: usize = 40;

/// A small generator of pseudo-random numbers (xorshift), so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("less than the limit")
    }
}

/// Runs `async-opt` on `input`.
fn opt(input: &[u8], arguments: &[&str]) -> Result<Output> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_async-opt"))
        .arg("--allow-unregistered-dialect")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // The tool may well refuse the input before it has read it all.
    let _ = child.stdin.take().context("a piped input")?.write_all(input);
    Ok(child.wait_with_output()?)
}

/// Checks that the tool accepts or refuses `input`, and says why in the second case.
fn survives(input: &[u8], what: &str) -> Result<()> {
    for passes in PASSES {
        let output = opt(input, passes)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let refused = match output.status.code() {
            Some(0) => false,
            Some(1) => true,
            _ => anyhow::bail!("{what}: {}: {errors}", output.status),
        };
        ensure!(
            !refused || errors.contains("error:"),
            "{what}: refused without an error: {errors}"
        );
        ensure!(!errors.contains("bug in async-opt"), "{what}: {errors}");
    }
    Ok(())
}

/// Damages `original` in many ways, and checks each.
fn damage(original: &[u8], seed: u64) -> Result<()> {
    let mut random = Random(seed);
    for case in 0..CASES {
        let mut flipped = original.to_vec();
        for _ in 0..=random.below(4) {
            let position = random.below(flipped.len());
            flipped[position] = u8::try_from(random.below(256))?;
        }
        survives(&flipped, &format!("case {case}: flipped bytes"))?;

        let length = random.below(original.len());
        survives(
            &original[..length],
            &format!("case {case}: the first {length} bytes"),
        )?;
    }
    Ok(())
}

#[test]
fn damaged_text() -> Result<()> {
    damage(SOURCE.as_bytes(), 0x9e37_79b9_7f4a_7c15)
}

#[test]
fn damaged_bytecode() -> Result<()> {
    let bytecode = opt(SOURCE.as_bytes(), &["--emit-bytecode"])?;
    ensure!(
        bytecode.status.success(),
        "{}",
        String::from_utf8_lossy(&bytecode.stderr)
    );
    damage(&bytecode.stdout, 0x2545_f491_4f6c_dd1d)
}
