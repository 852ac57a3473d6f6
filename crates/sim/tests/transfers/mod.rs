//! Random kernels that transfer: of many widths and alignments, masked, out of bounds, with accesses in between.

use proptest::prelude::*;
use std::fmt::Write;

/// Threads of the block. Each has a part of every buffer, which others only read between two barriers.
pub const THREADS: u32 = 8;
/// Elements of a part.
const PART: u32 = 32;
/// Elements of the buffer that is only read; less than what the last threads read, which is out of bounds for them.
const SIZE: u32 = 200;

/// How a transfer is written.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Scalar,
    Vector,
    /// Perhaps out of bounds.
    TransferRead,
    /// Two rows.
    Rows,
    /// So many first elements.
    Mask(u32),
    /// `vector.mask` around a transfer that may be out of bounds.
    MaskRegion(u32),
    MaskedLoad(u32),
    /// What is loaded, or zeros: in one order or the other.
    Select(bool),
    /// So many first elements of what is loaded.
    SelectMask(u32),
    /// Loaded where that is in bounds, and zeros elsewhere: by the result of a branch.
    Yield(bool),
    /// The same, stored in both arms.
    Branch(bool),
    CopyOfMemrefs,
}

/// Elements from somewhere in the source to somewhere in the part of a buffer.
#[derive(Clone, Debug)]
pub struct Transfer {
    form: Form,
    /// 1, 2, 3, 4 or 8.
    elements: u32,
    from: u32,
    to: u32,
    /// Which of two buffers is written.
    buffer: usize,
    /// Reads what threads also write.
    from_written: bool,
    /// Depends on the iteration.
    by_iteration: bool,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Transfer(Transfer, Vec<Stmt>),
    Region(Vec<Transfer>),
    /// Adds an element of the part of a buffer to the sum.
    Read(usize, u32),
    /// Adds an element of a neighbor's part.
    Exchange(usize, u32),
    /// Writes an element of the part of the source that is written.
    WriteSource(u32),
    /// Writes an element of the part of a buffer.
    Write(usize, u32),
    Barrier,
    If(Vec<Stmt>),
    For(u32, Vec<Stmt>),
}

/// The element type, and the statements.
pub type Kernel = (&'static str, Vec<Stmt>);

fn transfer() -> impl Strategy<Value = Transfer> {
    let form = prop_oneof![
        2 => Just(Form::Scalar),
        4 => Just(Form::Vector),
        2 => Just(Form::TransferRead),
        1 => Just(Form::Rows),
        1 => (0..10_u32).prop_map(Form::Mask),
        1 => (0..10_u32).prop_map(Form::MaskRegion),
        1 => (0..10_u32).prop_map(Form::MaskedLoad),
        1 => any::<bool>().prop_map(Form::Select),
        1 => (0..10_u32).prop_map(Form::SelectMask),
        1 => any::<bool>().prop_map(Form::Yield),
        1 => any::<bool>().prop_map(Form::Branch),
        1 => Just(Form::CopyOfMemrefs),
    ];
    let elements = prop::sample::select(vec![1_u32, 2, 3, 4, 4, 8, 8]);
    // Aligned ones more often. The last iteration of a loop stays in the part, too.
    let offset = || prop_oneof![(0..10_u32).boxed(), (0..3_u32).prop_map(|i| i * 4).boxed()];
    let flags = (0..2_usize, any::<bool>(), any::<bool>());
    (form, elements, offset(), offset(), flags).prop_map(
        |(form, elements, from, to, (buffer, from_written, by_iteration))| Transfer {
            form,
            elements,
            from,
            to,
            buffer,
            from_written,
            by_iteration,
        },
    )
}

/// Random kernels.
pub fn kernels() -> impl Strategy<Value = Kernel> {
    let place = || (0..2_usize, 0..PART);
    let access = move || {
        prop_oneof![
            2 => place().prop_map(|(buffer, at)| Stmt::Read(buffer, at)),
            1 => place().prop_map(|(buffer, at)| Stmt::Write(buffer, at)),
            1 => (0..PART).prop_map(Stmt::WriteSource),
        ]
    };
    let between = prop::collection::vec(access(), 0..3);
    let leaf = prop_oneof![
        6 => (transfer(), between).prop_map(|(transfer, between)| Stmt::Transfer(transfer, between)),
        1 => prop::collection::vec(transfer(), 1..3).prop_map(Stmt::Region),
        2 => access(),
        1 => place().prop_map(|(buffer, at)| Stmt::Exchange(buffer, at)),
        1 => Just(Stmt::Barrier),
    ];
    let stmt = leaf.prop_recursive(2, 16, 4, |inner| {
        let body = move || prop::collection::vec(inner.clone(), 1..5);
        prop_oneof![
            body().prop_map(Stmt::If),
            (0..4_u32, body()).prop_map(|(trips, body)| Stmt::For(trips, body)),
        ]
    });
    let element = prop::sample::select(vec!["f32", "f32", "f16", "f64"]);
    (element, prop::collection::vec(stmt, 1..8))
}

struct Writer {
    text: String,
    next: u32,
    element: &'static str,
    iteration: String,
    /// Whether threads may have taken different ways.
    diverged: bool,
}

/// The text of a kernel.
pub fn kernel_of((element, stmts): &Kernel) -> String {
    let mut writer = Writer {
        text: String::new(),
        next: 0,
        element,
        iteration: "%c0".to_owned(),
        diverged: false,
    };
    writer.clear();
    let sum = writer.body(stmts, "%zero".to_owned());
    writer.dump(&sum);
    let Writer { text, .. } = writer;
    let mut constants = String::new();
    for number in 0..=SIZE {
        let _ = writeln!(constants, "%c{number} = arith.constant {number} : index");
    }
    let bytes = THREADS * PART;
    format!(
        "!in = memref<{SIZE}x{element}>\n!any = memref<?x{element}>\n!written = memref<{bytes}x{element}>\n\
         !s = memref<{bytes}x{element}, #gpu.address_space<workgroup>>\n\
         !out = memref<{}x{element}>\n\
         gpu.module @m {{\n\
         gpu.func @kernel(%fixed: !in, %written: !written, %out: !out) workgroup(%s0: !s, %s1: !s) kernel\n\
         attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{\n\
         {constants}\
         %zero = arith.constant 0.0 : {element}\n\
         %in = memref.cast %fixed : !in to !any\n\
         %t = gpu.thread_id x\n\
         %part = arith.muli %t, %c{PART} : index\n\
         %even = arith.remui %t, %c2 : index\n\
         %is_even = arith.cmpi eq, %even, %c0 : index\n\
         {text}gpu.return\n}}\n}}\n",
        THREADS * (2 * PART + 1),
    )
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn def(&mut self, right: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {right}"));
        name
    }

    fn index(&mut self, base: &str, offset: u32) -> String {
        self.def(&format!("arith.addi {base}, %c{offset} : index"))
    }

    /// Zeros in both buffers.
    fn clear(&mut self) {
        self.line(&format!("scf.for %i = %c0 to %c{PART} step %c1 {{"));
        let at = self.def("arith.addi %part, %i : index");
        for buffer in ["%s0", "%s1"] {
            self.line(&format!("memref.store %zero, {buffer}[{at}] : !s"));
        }
        self.line("}");
        self.line("gpu.barrier");
    }

    /// All that a thread knows, to the output.
    fn dump(&mut self, sum: &str) {
        let start = self.def(&format!("arith.muli %t, %c{} : index", 2 * PART + 1));
        self.line(&format!("memref.store {sum}, %out[{start}] : !out"));
        for (buffer, offset) in [("%s0", 1), ("%s1", 1 + PART)] {
            let start = self.index(&start, offset);
            self.line(&format!("scf.for %i = %c0 to %c{PART} step %c1 {{"));
            let from = self.def("arith.addi %part, %i : index");
            let to = self.def(&format!("arith.addi {start}, %i : index"));
            let value = self.def(&format!("memref.load {buffer}[{from}] : !s"));
            self.line(&format!("memref.store {value}, %out[{to}] : !out"));
            self.line("}");
        }
    }

    fn body(&mut self, stmts: &[Stmt], mut sum: String) -> String {
        for stmt in stmts {
            sum = self.stmt(stmt, sum);
        }
        sum
    }

    fn add(&mut self, sum: &str, value: &str) -> String {
        let element = self.element;
        self.def(&format!("arith.addf {sum}, {value} : {element}"))
    }

    fn stmt(&mut self, stmt: &Stmt, sum: String) -> String {
        match stmt {
            Stmt::Transfer(transfer, between) => self.transfer(transfer, between, sum),
            Stmt::Region(transfers) => {
                let token = self.def("async.region {");
                for transfer in transfers {
                    self.transfer(transfer, &[], String::new());
                }
                self.line("async.yield\n}");
                self.line(&format!("async.await {token}"));
                sum
            }
            Stmt::Read(buffer, at) => {
                let at = self.index("%part", *at);
                let value = self.def(&format!("memref.load %s{buffer}[{at}] : !s"));
                self.add(&sum, &value)
            }
            Stmt::Exchange(..) | Stmt::Barrier if self.diverged => sum,
            Stmt::Exchange(buffer, at) => {
                self.line("gpu.barrier");
                let next = self.index("%t", 1);
                let next = self.def(&format!("arith.remui {next}, %c{THREADS} : index"));
                let part = self.def(&format!("arith.muli {next}, %c{PART} : index"));
                let at = self.index(&part, *at);
                let value = self.def(&format!("memref.load %s{buffer}[{at}] : !s"));
                self.line("gpu.barrier");
                self.add(&sum, &value)
            }
            Stmt::WriteSource(at) => {
                let at = self.index("%part", *at);
                self.line(&format!("memref.store {sum}, %written[{at}] : !written"));
                sum
            }
            Stmt::Write(buffer, at) => {
                let at = self.index("%part", *at);
                self.line(&format!("memref.store {sum}, %s{buffer}[{at}] : !s"));
                sum
            }
            Stmt::Barrier => {
                self.line("gpu.barrier");
                sum
            }
            Stmt::If(body) => self.branch(body, &sum),
            Stmt::For(trips, body) => self.repeat(*trips, body, &sum),
        }
    }

    fn branch(&mut self, body: &[Stmt], sum: &str) -> String {
        let (name, element) = (self.name(), self.element);
        self.line(&format!("{name} = scf.if %is_even -> ({element}) {{"));
        let outer = std::mem::replace(&mut self.diverged, true);
        let inner = self.body(body, sum.to_owned());
        self.diverged = outer;
        self.line(&format!("scf.yield {inner} : {element}\n}} else {{"));
        self.line(&format!("scf.yield {sum} : {element}\n}}"));
        name
    }

    fn repeat(&mut self, trips: u32, body: &[Stmt], sum: &str) -> String {
        let (name, iteration, carried) = (self.name(), self.name(), self.name());
        let element = self.element;
        self.line(&format!(
            "{name} = scf.for {iteration} = %c0 to %c{trips} step %c1 iter_args({carried} = {sum}) -> ({element}) {{"
        ));
        let outer = std::mem::replace(&mut self.iteration, iteration);
        let inner = self.body(body, carried);
        self.iteration = outer;
        self.line(&format!("scf.yield {inner} : {element}\n}}"));
        name
    }

    /// The buffer that a transfer reads, its type, and the index.
    fn source(&mut self, transfer: &Transfer) -> (&'static str, &'static str, String) {
        // Others than reads out of bounds stay in bounds.
        let may_leave = matches!(
            transfer.form,
            Form::TransferRead | Form::MaskRegion(_) | Form::Yield(_) | Form::Branch(_)
        );
        let (source, ty) = match (transfer.from_written, may_leave) {
            (true, _) => ("%written", "!written"),
            (false, true) => ("%in", "!any"),
            (false, false) => ("%fixed", "!in"),
        };
        let base = if transfer.from_written || may_leave {
            "%part".to_owned()
        } else {
            self.def("arith.muli %t, %c20 : index")
        };
        let mut from = self.index(&base, transfer.from);
        if transfer.by_iteration {
            let four = self.def(&format!("arith.muli {}, %c4 : index", self.iteration));
            from = self.def(&format!("arith.addi {from}, {four} : index"));
        }
        (source, ty, from)
    }

    fn transfer(&mut self, transfer: &Transfer, between: &[Stmt], sum: String) -> String {
        let Transfer { form, elements, .. } = *transfer;
        let (source, ty, from) = self.source(transfer);
        let to = self.index("%part", transfer.to);
        self.line("// transfer");
        let (element, buffer) = (self.element, transfer.buffer);
        let vector = format!("vector<{elements}x{element}>");
        let mask_type = format!("vector<{elements}xi1>");
        let value = match form {
            Form::Scalar => self.def(&format!("memref.load {source}[{from}] : {ty}")),
            Form::Vector => self.def(&format!("vector.load {source}[{from}] : {ty}, {vector}")),
            Form::TransferRead => self.def(&format!(
                "vector.transfer_read {source}[{from}], %zero : {ty}, {vector}"
            )),
            Form::Rows => self.rows(source, ty, &from, elements),
            Form::Mask(bound) => {
                let mask = self.def(&format!("vector.create_mask %c{bound} : {mask_type}"));
                self.def(&format!(
                    "vector.transfer_read {source}[{from}], %zero, {mask} {{in_bounds = [true]}} : {ty}, {vector}"
                ))
            }
            Form::MaskRegion(bound) => {
                let bound = self.def(&format!("arith.minui %t, %c{bound} : index"));
                let mask = self.def(&format!("vector.create_mask {bound} : {mask_type}"));
                self.def(&format!(
                    "vector.mask {mask} {{ vector.transfer_read {source}[{from}], %zero : {ty}, {vector} }} : {mask_type} -> {vector}"
                ))
            }
            Form::MaskedLoad(bound) => {
                let mask = self.def(&format!("vector.create_mask %c{bound} : {mask_type}"));
                let zeros = self.def(&format!("arith.constant dense<0.0> : {vector}"));
                self.def(&format!(
                    "vector.maskedload {source}[{from}], {mask}, {zeros} : {ty}, {mask_type}, {vector} into {vector}"
                ))
            }
            Form::Select(when) => {
                let v = self.def(&format!("vector.load {source}[{from}] : {ty}, {vector}"));
                let zeros = self.def(&format!("arith.constant dense<0.0> : {vector}"));
                let condition = self.def("arith.cmpi ult, %t, %c3 : index");
                let (a, b) = if when { (v, zeros) } else { (zeros, v) };
                self.def(&format!("arith.select {condition}, {a}, {b} : {vector}"))
            }
            Form::SelectMask(bound) => {
                let mask = self.def(&format!("vector.create_mask %c{bound} : {mask_type}"));
                let v = self.def(&format!("vector.load {source}[{from}] : {ty}, {vector}"));
                let zeros = self.def(&format!("arith.constant dense<0.0> : {vector}"));
                self.def(&format!(
                    "arith.select {mask}, {v}, {zeros} : {mask_type}, {vector}"
                ))
            }
            Form::Yield(when) => {
                let zeros = self.def(&format!("arith.constant dense<0.0> : {vector}"));
                let condition = self.fits(&from, elements, when);
                let result = self.name();
                self.line(&format!("{result} = scf.if {condition} -> ({vector}) {{"));
                let load = |writer: &mut Self| {
                    let at = writer.def(&format!("arith.addi {from}, %c0 : index"));
                    writer.def(&format!("vector.load {source}[{at}] : {ty}, {vector}"))
                };
                let value = if when { load(self) } else { zeros.clone() };
                self.line(&format!("scf.yield {value} : {vector}\n}} else {{"));
                let value = if when { zeros } else { load(self) };
                self.line(&format!("scf.yield {value} : {vector}\n}}"));
                result
            }
            Form::Branch(when) => {
                let sum = self.body(between, sum);
                let zeros = self.def(&format!("arith.constant dense<0.0> : {vector}"));
                let condition = self.fits(&from, elements, when);
                self.line(&format!("scf.if {condition} {{"));
                for arm in [true, false] {
                    let value = if arm == when {
                        let at = self.def(&format!("arith.addi {from}, %c0 : index"));
                        self.def(&format!("vector.load {source}[{at}] : {ty}, {vector}"))
                    } else {
                        zeros.clone()
                    };
                    self.line(&format!("vector.store {value}, %s{buffer}[{to}] : !s, {vector}"));
                    self.line(if arm { "} else {" } else { "}" });
                }
                return sum;
            }
            Form::CopyOfMemrefs => {
                let sum = self.body(between, sum);
                self.copy_of_memrefs(elements, (source, ty, &from), (buffer, &to));
                return sum;
            }
        };
        let sum = self.body(between, sum);
        match form {
            Form::Scalar => self.line(&format!("memref.store {value}, %s{buffer}[{to}] : !s")),
            Form::Mask(_) => self.line(&format!(
                "vector.transfer_write {value}, %s{buffer}[{to}] {{in_bounds = [true]}} : {vector}, !s"
            )),
            _ => self.line(&format!("vector.store {value}, %s{buffer}[{to}] : !s, {vector}")),
        }
        sum
    }

    /// Whether so many elements are in the source that is only read; with `when` false, whether they are not.
    fn fits(&mut self, from: &str, elements: u32, when: bool) -> String {
        let end = self.index(from, elements);
        let predicate = if when { "ule" } else { "ugt" };
        self.def(&format!("arith.cmpi {predicate}, {end}, %c{SIZE} : index"))
    }

    fn copy_of_memrefs(&mut self, elements: u32, from: (&str, &str, &str), to: (usize, &str)) {
        let ((source, ty, from), (buffer, to)) = (from, to);
        let part = format!("memref<{elements}x{}, strided<[1], offset: ?>", self.element);
        let (from_ty, to_ty) = (
            format!("{part}>"),
            format!("{part}, #gpu.address_space<workgroup>>"),
        );
        let size = format!("[{elements}] [1]");
        let from = self.def(&format!(
            "memref.subview {source}[{from}] {size} : {ty} to {from_ty}"
        ));
        let to = self.def(&format!("memref.subview %s{buffer}[{to}] {size} : !s to {to_ty}"));
        self.line(&format!("memref.copy {from}, {to} : {from_ty} to {to_ty}"));
    }

    /// The first elements of two rows that lie apart, of a half each; an odd number is read as it lies.
    fn rows(&mut self, source: &str, ty: &str, from: &str, elements: u32) -> String {
        let element = self.element;
        let vector = format!("vector<{elements}x{element}>");
        if elements % 2 == 1 {
            return self.def(&format!("vector.load {source}[{from}] : {ty}, {vector}"));
        }
        let half = elements / 2;
        let rows_ty = format!("memref<2x{half}x{element}, strided<[6, 1], offset: ?>>");
        let rows = self.def(&format!(
            "memref.reinterpret_cast {source} to offset: [{from}], sizes: [2, {half}], strides: [6, 1] : {ty} to {rows_ty}"
        ));
        let both = format!("vector<2x{half}x{element}>");
        let value = self.def(&format!(
            "vector.transfer_read {rows}[%c0, %c0], %zero {{in_bounds = [true, true]}} : {rows_ty}, {both}"
        ));
        self.def(&format!("vector.shape_cast {value} : {both} to {vector}"))
    }
}
