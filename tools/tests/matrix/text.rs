//! Writes kernels as text: fresh names, constants, and the operations that have regions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The type of tokens.
pub const TOKEN: &str = "!async.token";

/// A value and its type.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name, with the percent sign.
    pub name: String,
    /// Its type.
    pub kind: String,
}

impl Value {
    /// A value of a type.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
        }
    }

    /// A token.
    pub fn token(name: impl Into<String>) -> Self {
        Self::new(name, TOKEN)
    }
}

/// The body of a kernel.
#[derive(Default)]
pub struct Text {
    lines: String,
    depth: usize,
    next: usize,
    /// Constants stand once, where the kernel starts.
    constants: BTreeSet<usize>,
}

impl Text {
    /// Writes a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.lines, "{}{}", "  ".repeat(self.depth + 2), line.as_ref());
    }

    /// Writes an operation with one result, and returns its name.
    pub fn def(&mut self, op: impl AsRef<str>) -> String {
        let name = self.fresh();
        self.line(format!("{name} = {}", op.as_ref()));
        name
    }

    /// Writes an operation with two results, and returns their names.
    pub fn pair(&mut self, op: impl AsRef<str>) -> (String, String) {
        let name = self.fresh();
        self.line(format!("{name}:2 = {}", op.as_ref()));
        (format!("{name}#0"), format!("{name}#1"))
    }

    /// An operation on two indices.
    pub fn index(&mut self, op: &str, left: &str, right: &str) -> String {
        self.def(format!("arith.{op} {left}, {right} : index"))
    }

    /// A comparison of two indices.
    pub fn less(&mut self, left: &str, right: &str) -> String {
        self.def(format!("arith.cmpi ult, {left}, {right} : index"))
    }

    /// The constant of an index.
    pub fn constant(&mut self, value: usize) -> String {
        self.constants.insert(value);
        format!("%c{value}")
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    /// The start of an operation with so many results, and their names.
    fn results(&mut self, kinds: &[String]) -> (String, Vec<String>) {
        if kinds.is_empty() {
            return (String::new(), Vec::new());
        }
        let name = self.fresh();
        let names = (0..kinds.len()).map(|i| format!("{name}#{i}")).collect();
        (format!("{name}:{} = ", kinds.len()), names)
    }

    fn inside(&mut self, work: impl FnOnce(&mut Self) -> Vec<String>, yields: &[String], end: &str) {
        self.depth += 1;
        let values = work(self);
        assert_eq!(values.len(), yields.len(), "what a region yields");
        if !yields.is_empty() || end != "scf.yield" {
            let typed = if yields.is_empty() {
                String::new()
            } else {
                format!(" {} : {}", values.join(", "), yields.join(", "))
            };
            self.line(format!("{end}{typed}"));
        }
        self.depth -= 1;
    }

    /// An `scf.if` with results of some types.
    pub fn if_else(
        &mut self,
        condition: &str,
        kinds: &[String],
        then: impl FnOnce(&mut Self) -> Vec<String>,
        otherwise: impl FnOnce(&mut Self) -> Vec<String>,
    ) -> Vec<String> {
        let (start, names) = self.results(kinds);
        let arrow = arrow(kinds);
        self.line(format!("{start}scf.if {condition}{arrow} {{"));
        self.inside(then, kinds, "scf.yield");
        if !kinds.is_empty() {
            self.line("} else {");
            self.inside(otherwise, kinds, "scf.yield");
        }
        self.line("}");
        names
    }

    /// An `scf.if` without results.
    pub fn if_then(&mut self, condition: &str, then: impl FnOnce(&mut Self)) {
        let then = |text: &mut Self| {
            then(text);
            Vec::new()
        };
        self.if_else(condition, &[], then, |_| Vec::new());
    }

    /// An `scf.for` by ones that carries values; `body` gets the index and what is carried.
    pub fn for_loop(
        &mut self,
        (from, to, step): (&str, &str, &str),
        carried: &[Value],
        body: impl FnOnce(&mut Self, &str, &[String]) -> Vec<String>,
    ) -> Vec<String> {
        let kinds: Vec<String> = carried.iter().map(|value| value.kind.clone()).collect();
        let (start, names) = self.results(&kinds);
        let index = self.fresh();
        let inner: Vec<String> = carried.iter().map(|_| self.fresh()).collect();
        let bound = bound(&inner, carried);
        let bound = if carried.is_empty() {
            String::new()
        } else {
            format!(" iter_args({bound}){}", arrow(&kinds))
        };
        self.line(format!(
            "{start}scf.for {index} = {from} to {to} step {step}{bound} {{"
        ));
        self.inside(|text| body(text, &index, &inner), &kinds, "scf.yield");
        self.line("}");
        names
    }

    /// The same as an `scf.while` that counts from 0.
    pub fn while_loop(
        &mut self,
        to: &str,
        carried: &[Value],
        body: impl FnOnce(&mut Self, &str, &[String]) -> Vec<String>,
    ) -> Vec<String> {
        let zero = self.constant(0);
        let one = self.constant(1);
        let mut all = vec![Value::new(zero, "index")];
        all.extend_from_slice(carried);
        let kinds: Vec<String> = all.iter().map(|value| value.kind.clone()).collect();
        let (start, names) = self.results(&kinds);
        let tested: Vec<String> = all.iter().map(|_| self.fresh()).collect();
        let bound = bound(&tested, &all);
        let types = kinds.join(", ");
        self.line(format!("{start}scf.while ({bound}) : ({types}) -> ({types}) {{"));
        self.depth += 1;
        let more = self.less(&tested[0], to);
        self.line(format!("scf.condition({more}) {} : {types}", tested.join(", ")));
        self.depth -= 1;
        let inner: Vec<String> = all.iter().map(|_| self.fresh()).collect();
        let parameters: Vec<String> = inner
            .iter()
            .zip(&kinds)
            .map(|(name, kind)| format!("{name}: {kind}"))
            .collect();
        self.line("} do {");
        self.line(format!("^bb0({}):", parameters.join(", ")));
        let work = |text: &mut Self| {
            let mut values = body(text, &inner[0], &inner[1..]);
            values.insert(0, text.index("addi", &inner[0], &one));
            values
        };
        self.inside(work, &kinds, "scf.yield");
        self.line("}");
        names[1..].to_vec()
    }

    /// The kernel of a module, which has one parameter more: its `%block` is the number of the block times `%stride`.
    pub fn kernel(&self, aliases: &str, parameters: &str, workgroup: &str, threads: usize) -> String {
        let mut constants = String::new();
        for value in &self.constants {
            let _ = writeln!(constants, "    %c{value} = arith.constant {value} : index");
        }
        format!(
            "{aliases}\ngpu.module @matrix {{\n  gpu.func @kernel({parameters}, %stride: index) workgroup({workgroup}) kernel\n      \
             attributes {{known_block_size = array<i32: {threads}, 1, 1>}} {{\n{constants}    %id = gpu.block_id x\n    \
             %block = arith.muli %id, %stride : index\n{}    gpu.return\n  }}\n}}\n",
            self.lines
        )
    }
}

fn arrow(kinds: &[String]) -> String {
    if kinds.is_empty() {
        String::new()
    } else {
        format!(" -> ({})", kinds.join(", "))
    }
}

fn bound(inner: &[String], values: &[Value]) -> String {
    let pairs = inner
        .iter()
        .zip(values)
        .map(|(inner, value)| format!("{inner} = {}", value.name));
    pairs.collect::<Vec<_>>().join(", ")
}
