//! Multiplications of a sparse matrix: all shapes, types and selectors, compared with the product of the matrix as a whole.
//! Its numbers and its metadata are put where the figures of the PTX ISA say, shape by shape.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use kernel::{Call, Outcome, context, execute, lower, parse};
use std::fmt::Write;

/// The types of A and B, and of C and D.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Types {
    input: &'static str,
    output: &'static str,
}

impl Types {
    /// The bytes of a number of A.
    fn bytes(self) -> usize {
        match self.input {
            "s8" | "u8" => 1,
            "tf32" => 4,
            _ => 2,
        }
    }

    /// The bits of a small number of A or B.
    fn encode(self, number: i32) -> u32 {
        let float = f64::from(number);
        #[allow(clippy::cast_possible_truncation)] // Small integers are exact.
        match self.input {
            "f16" => half::f16::from_f64(float).to_bits().into(),
            "bf16" => half::bf16::from_f64(float).to_bits().into(),
            "tf32" => (float as f32).to_bits(),
            _ => number.cast_unsigned() & 0xFF,
        }
    }
}

/// How the kernel says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `nvgpu.mma.sp.sync`
    Nvgpu,
    /// What `--convert-nvgpu-to-nvvm` makes of that.
    Assembly,
    /// `nvvm.mma.sp.sync`
    Nvvm,
    /// The same with ordered metadata.
    Ordered,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    types: Types,
    k: usize,
    selector: usize,
    form: Form,
}

/// Numbers at random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn small(&mut self) -> i32 {
        i32::try_from(self.below(7)).unwrap_or(0) - 3
    }
}

/// What the lanes hold, and what comes out.
struct Contents {
    /// The registers of each lane, of 32 bits: of A, of B, and the metadata.
    a: Vec<u32>,
    b: Vec<u32>,
    metadata: Vec<u32>,
    /// D, of 16 rows and 8 columns.
    product: Vec<i32>,
}

impl Case {
    /// How many numbers a register holds.
    fn pack(self) -> usize {
        4 / self.types.bytes()
    }

    /// How many columns a chunk has, half of which A has numbers for.
    fn chunk(self) -> usize {
        if self.types.bytes() == 4 { 2 } else { 4 }
    }

    /// The lane of four, and the bit from which on the 4 bits of a chunk are, by the figures: the first lanes that the
    /// selector names come first.
    fn metadata_at(self, row: usize, chunk: usize) -> (usize, usize) {
        let lower = row / 8;
        match (self.types.bytes(), self.k) {
            (2, 16) | (4, 8) => (self.selector, 16 * lower + 4 * chunk),
            (2, 32) | (4, 16) => (2 * self.selector + chunk / 4, 16 * lower + 4 * (chunk % 4)),
            (1, 32) => (2 * self.selector + lower, 4 * chunk),
            _ => (2 * (chunk / 8) + lower, 4 * (chunk % 8)),
        }
    }

    /// The row of number `i` of a lane's part of A, and which of the numbers of that row it is.
    fn a_at(self, lane: usize, i: usize) -> (usize, usize) {
        let (register, within) = (i / self.pack(), i % self.pack());
        let row = if register % 2 == 0 { lane / 4 } else { lane / 4 + 8 };
        let right = if register < 2 { 0 } else { 4 * self.pack() };
        (row, right + lane % 4 * self.pack() + within)
    }

    fn contents(self, random: &mut Random) -> Contents {
        let (k, stored) = (self.k, self.k / 2);
        let mut dense = vec![0; 16 * k];
        let mut numbers = vec![0; 16 * stored];
        let mut metadata: Vec<u32> = (0..32)
            .map(|_| u32::try_from(random.below(1 << 31)).unwrap_or(0))
            .collect();
        for row in 0..16 {
            for chunk in 0..k / self.chunk() {
                let (columns, bits) = self.columns(random);
                let (lane, bit) = self.metadata_at(row, chunk);
                let holder = &mut metadata[4 * (row % 8) + lane];
                *holder = *holder & !(0xF << bit) | bits << bit;
                for (i, column) in columns.iter().enumerate() {
                    let number = random.small();
                    dense[row * k + chunk * self.chunk() + column] = number;
                    numbers[row * stored + chunk * columns.len() + i] = number;
                }
            }
        }
        let right: Vec<i32> = (0..k * 8).map(|_| random.small()).collect();
        let registers = |count: usize, number: &dyn Fn(usize, usize) -> i32| -> Vec<u32> {
            let all = (0..32).flat_map(|lane| (0..count).map(move |register| (lane, register)));
            let bits = all.map(|(lane, register)| {
                let numbers = (0..self.pack()).map(|i| number(lane, register * self.pack() + i));
                let bits = numbers.map(|number| self.types.encode(number)).rev();
                bits.fold(0, |sum, bits| {
                    if self.pack() == 1 {
                        bits
                    } else {
                        sum << (32 / self.pack()) | bits
                    }
                })
            });
            bits.collect()
        };
        let unsigned = |number: i32| {
            if self.types.input == "u8" {
                number & 0xFF
            } else {
                number
            }
        };
        let product = (0..16 * 8).map(|i| {
            let products = (0..k).map(|l| unsigned(dense[i / 8 * k + l]) * unsigned(right[l * 8 + i % 8]));
            products.sum()
        });
        Contents {
            a: registers(16 * stored / 32 / self.pack(), &|lane, i| {
                let (row, column) = self.a_at(lane, i);
                numbers[row * stored + column]
            }),
            b: registers(k * 8 / 32 / self.pack(), &|lane, i| {
                let (register, within) = (i / self.pack(), i % self.pack());
                let row = (4 * register + lane % 4) * self.pack() + within;
                right[row * 8 + lane / 4]
            }),
            product: product.collect(),
            metadata,
        }
    }

    /// Some columns of a chunk, and the metadata that names them.
    fn columns(self, random: &mut Random) -> (Vec<usize>, u32) {
        if self.chunk() == 2 {
            let column = random.below(2);
            return (vec![column], [0b0100, 0b1110][column]);
        }
        let first = random.below(4);
        let second = (first + 1 + random.below(3)) % 4;
        let mut columns = [first, second];
        if self.form == Form::Ordered {
            columns.sort_unstable();
        }
        let bits = columns[0] | columns[1] << 2;
        (columns.to_vec(), u32::try_from(bits).unwrap_or(0))
    }

    /// A kernel that multiplies, and stores the numbers of every lane.
    fn source(self, selector: usize) -> String {
        let (a, b) = (self.k * 16 / 64 / self.pack(), self.k * 8 / 32 / self.pack());
        let output = match self.types.output {
            "s32" => "i32",
            output => output,
        };
        let mut text = format!(
            "gpu.module @sparse {{
  gpu.func @product(%a: memref<32x{a}xi32>, %b: memref<32x{b}xi32>, %m: memref<32xi32>, %out: memref<32x4x{output}>) kernel
      attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %ra = vector.load %a[%t, %c0] : memref<32x{a}xi32>, vector<{a}xi32>
    %rb = vector.load %b[%t, %c0] : memref<32x{b}xi32>, vector<{b}xi32>
    %meta = memref.load %m[%t] : memref<32xi32>
"
        );
        match self.form {
            Form::Nvgpu | Form::Assembly => self.nvgpu(&mut text, [a, b], output, selector),
            Form::Nvvm | Form::Ordered => self.nvvm(&mut text, [a, b], output, selector),
        }
        text + "    gpu.return\n  }\n}\n"
    }

    fn nvgpu(self, text: &mut String, [a, b]: [usize; 2], output: &str, selector: usize) {
        let (k, pack) = (self.k, self.pack());
        let (input, tf32) = match self.types.input {
            "tf32" => ("f32", ", tf32Enabled"),
            "s8" => ("i8", ""),
            input => (input, ""),
        };
        let zero = if output == "i32" { "0" } else { "0.0" };
        for (name, count) in [("a", a), ("b", b)] {
            let all = count * pack;
            let _ = writeln!(
                text,
                "    %n{name} = vector.bitcast %r{name} : vector<{count}xi32> to vector<{all}x{input}>
    %f{name} = vector.shape_cast %n{name} : vector<{all}x{input}> to vector<{count}x{pack}x{input}>"
            );
        }
        let _ = writeln!(
            text,
            "    %zero = arith.constant dense<{zero}> : vector<2x2x{output}>
    %one = vector.from_elements %meta : vector<1xi32>
    %pair = vector.bitcast %one : vector<1xi32> to vector<2xi16>
    %d = nvgpu.mma.sp.sync(%fa, %fb, %zero) metadata(%pair) {{mmaShape = [16, 8, {k}], sparsitySelector = {selector} : i32{tf32}}}
      : (vector<{a}x{pack}x{input}>, vector<{b}x{pack}x{input}>, vector<2x2x{output}>) -> vector<2x2x{output}>
    %row = vector.shape_cast %d : vector<2x2x{output}> to vector<4x{output}>
    vector.store %row, %out[%t, %c0] : memref<32x4x{output}>, vector<4x{output}>"
        );
    }

    fn nvvm(self, text: &mut String, [a, b]: [usize; 2], output: &str, selector: usize) {
        let (k, ptx) = (self.k, self.types.input);
        let register = if ptx == "f16" { "vector<2xf16>" } else { "i32" };
        for (name, count) in [("a", a), ("b", b)] {
            for i in 0..count {
                let _ = writeln!(
                    text,
                    "    %w{name}{i} = vector.extract %r{name}[{i}] : i32 from vector<{count}xi32>
    %{name}{i} = llvm.bitcast %w{name}{i} : i32 to {register}"
                );
            }
        }
        let list = |name: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
            names.join(", ")
        };
        let (sum, parts) = if output == "f16" {
            ("vector<2xf16>", 2)
        } else {
            (output, 4)
        };
        let zero = match output {
            "i32" => "0",
            "f16" => "dense<0.0>",
            _ => "0.0",
        };
        let mut attributes = String::new();
        if self.form == Form::Ordered {
            attributes += "orderedMetadata, ";
        }
        if output == "i32" {
            attributes += "intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, ";
        }
        let members = vec![sum; parts].join(", ");
        let _ = writeln!(
            text,
            "    %z = arith.constant {zero} : {sum}
    %sel = arith.constant {selector} : i32
    %d = nvvm.mma.sp.sync A[{}] B[{}] C[{}] sparseMetadata[%meta] selector[%sel] {{{attributes}multiplicandAPtxType = #nvvm.mma_type<{ptx}>, multiplicandBPtxType = #nvvm.mma_type<{ptx}>, shape = #nvvm.shape<m = 16, n = 8, k = {k}>}}
      : ({register}, {register}, {sum}) -> !llvm.struct<({members})>",
            list("a", a),
            list("b", b),
            vec!["%z"; parts].join(", ")
        );
        for i in 0..parts {
            let at = i * 4 / parts;
            let store = if parts == 2 {
                "vector.store"
            } else {
                "memref.store"
            };
            let ty = if parts == 2 { ", vector<2xf16>" } else { "" };
            let _ = writeln!(
                text,
                "    %d{i} = llvm.extractvalue %d[{i}] : !llvm.struct<({members})>
    %i{i} = arith.constant {at} : index
    {store} %d{i}, %out[%t, %i{i}] : memref<32x4x{output}>{ty}"
            );
        }
    }

    /// Runs the kernel, with some selector.
    fn run(self, context: &Context, contents: &Contents, selector: usize) -> Outcome {
        let mut source = self.source(selector);
        if self.form == Form::Assembly {
            source = lower(
                context,
                &source,
                "builtin.module(gpu.module(convert-nvgpu-to-nvvm))",
            );
            assert!(source.contains("mma.sp.sync.aligned"), "{source}");
        }
        let code = parse(context, &source);
        let buffer = |words: &[u32]| {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (sizes, kind) = (Vec::new(), "<i4".into());
            Some(Argument::Buffer {
                sizes,
                fill: Fill::Bytes { bytes, kind },
            })
        };
        let (sizes, fill) = (Vec::new(), Fill::Zero);
        let arguments = vec![
            buffer(&contents.a),
            buffer(&contents.b),
            buffer(&contents.metadata),
            Some(Argument::Buffer { sizes, fill }),
        ];
        let call = Call {
            arguments,
            ..Call::of(32)
        };
        execute(&code, &call, Adversary::Late)
    }

    fn check(self, context: &Context, random: &mut Random) {
        let contents = self.contents(random);
        let outcome = self.run(context, &contents, self.selector);
        assert!(outcome.is_clean(), "{self:?}: {}", outcome.findings);
        for lane in 0..32 {
            for i in 0..4 {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                let expected = contents.product[row * 8 + column];
                let at = 4 * lane + i;
                let memory = &outcome.memory[3];
                let found = match self.types.output {
                    "f16" => f64::from(half::f16::from_le_bytes([memory[2 * at], memory[2 * at + 1]])),
                    output => {
                        let bits: [u8; 4] = std::array::from_fn(|byte| memory[4 * at + byte]);
                        match output {
                            "s32" => f64::from(i32::from_le_bytes(bits)),
                            _ => f64::from(f32::from_le_bytes(bits)),
                        }
                    }
                };
                assert!(
                    (found - f64::from(expected)).abs() == 0.0,
                    "{self:?}: row {row}, column {column} is {found}, and not {expected}"
                );
            }
        }
    }
}

/// Which types a form has, which K, and how many selectors there are.
fn cases() -> Vec<Case> {
    let types = |input, output| Types { input, output };
    let all = [
        (types("f16", "f32"), [(16, 4), (32, 2)]),
        (types("f16", "f16"), [(16, 4), (32, 2)]),
        (types("bf16", "f32"), [(16, 4), (32, 2)]),
        (types("tf32", "f32"), [(8, 4), (16, 2)]),
        (types("s8", "s32"), [(32, 2), (64, 1)]),
        (types("u8", "s32"), [(32, 2), (64, 1)]),
    ];
    let mut cases = Vec::new();
    for (types, shapes) in all {
        for (k, selectors) in shapes {
            for form in [Form::Nvgpu, Form::Assembly, Form::Nvvm, Form::Ordered] {
                let is_nvgpu = matches!(form, Form::Nvgpu | Form::Assembly);
                // nvgpu has no integers without a sign, no selectors above 1, and no lowering of bf16.
                if is_nvgpu && types.input == "u8" || form == Form::Assembly && types.input == "bf16" {
                    continue;
                }
                let selectors = if is_nvgpu { selectors.min(2) } else { selectors };
                cases.extend((0..selectors).map(|selector| Case {
                    types,
                    k,
                    selector,
                    form,
                }));
            }
        }
    }
    cases
}

#[test]
fn products_are_those_of_the_whole_matrix() {
    let context = context();
    let mut random = Random(1);
    let cases = cases();
    assert_eq!(cases.len(), 94);
    for case in cases {
        for _ in 0..3 {
            case.check(&context, &mut random);
        }
    }
}

#[test]
fn metadata_that_means_nothing_is_reported() {
    let context = context();
    let mut random = Random(2);
    for case in cases() {
        let invalid: &[u32] = match (case.chunk(), case.form) {
            (2, _) => &[0b0000, 0b0001, 0b1011, 0b1111],
            (_, Form::Ordered) => &[0b0000, 0b0101, 0b0001, 0b1011],
            _ => &[0b0000, 0b0101, 0b1010, 0b1111],
        };
        let mut contents = case.contents(&mut random);
        let (row, chunk) = (random.below(16), random.below(case.k / case.chunk()));
        let (lane, bit) = case.metadata_at(row, chunk);
        let holder = &mut contents.metadata[4 * (row % 8) + lane];
        *holder = *holder & !(0xF << bit) | invalid[random.below(4)] << bit;
        let outcome = case.run(&context, &contents, case.selector);
        let place = format!(
            "the metadata of row {row} of A, columns {} to",
            chunk * case.chunk()
        );
        assert!(
            outcome.findings.contains(&place),
            "{case:?}: {}",
            outcome.findings
        );
    }
}

#[test]
fn a_selector_that_no_lane_has_is_reported() {
    let context = context();
    let mut random = Random(3);
    for case in cases() {
        let choices = match (case.types.bytes(), case.k) {
            (2, 16) | (4, 8) => 4,
            (1, 64) => 1,
            _ => 2,
        };
        // nvgpu has 0 and 1 alone.
        if matches!(case.form, Form::Nvgpu | Form::Assembly) && choices > 1 {
            continue;
        }
        let contents = case.contents(&mut random);
        let outcome = case.run(&context, &contents, choices);
        let message = format!("the sparsity selector is {choices}, and has to be less than {choices}");
        assert!(
            outcome.findings.contains(&message),
            "{case:?}: {}",
            outcome.findings
        );
    }
}
