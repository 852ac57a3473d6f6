//! The text of programs.

use super::{BUFFERS, Before, Capture, CaptureKind, ELEMENTS, Order, Place, Sets, Stmt};
use std::collections::HashSet;
use std::fmt::Write;

/// A program as text.
pub struct Program {
    pub text: String,
    /// How many tokens are waited for.
    pub waits: usize,
}

/// The text of a program; wait number `without` is left out.
pub fn program(stmts: &[Stmt], without: Option<usize>) -> Program {
    let mut writer = Writer {
        without,
        ..Writer::default()
    };
    let names = std::array::from_fn(|i| format!("%m{i}"));
    let mut state = writer.fresh(names);
    writer.body(stmts, &mut state);
    // Whoever calls the function reads what it has written.
    let all = state.tokens.concat();
    writer.wait(&all);
    writer.line("return");
    let body = std::mem::take(&mut writer.text);
    let (functions, waits) = (&writer.functions, writer.waits);
    let params = params();
    Program {
        text: format!("{SOURCE}{functions}func.func @main({params}) {{\n{CONSTANTS}{body}}}\n"),
        waits,
    }
}

pub const CONSTANTS: &str = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%one = arith.constant 1 : i32\n%three = arith.constant 3 : i32\n%zero = arith.constant 0 : i32\n";

/// A number that no pass knows, so that tasks capture what is made of it.
const SOURCE: &str = "func.func private @source(%x: i32) -> i32 {\nreturn %x : i32\n}\n";

fn ty() -> String {
    format!("memref<{ELEMENTS}xi32>")
}

fn params() -> String {
    let params: Vec<String> = (0..BUFFERS).map(|i| format!("%m{i}: {}", ty())).collect();
    params.join(", ")
}

/// What is known at a place of the program.
#[derive(Clone)]
struct State {
    buffers: [String; BUFFERS],
    /// For each buffer, the token of what has written it last, and of what has read it since.
    tokens: [[String; 2]; BUFFERS],
    /// A value, and the token that it may be used after.
    value: [String; 2],
}

impl State {
    /// What control flow hands on.
    fn carried(&self) -> Vec<String> {
        let mut carried: Vec<String> = self.tokens.iter().flatten().cloned().collect();
        carried.extend(self.value.iter().rev().cloned());
        carried
    }

    fn with(&self, carried: &[String]) -> Self {
        let mut state = self.clone();
        let mut names = carried.iter().cloned();
        for name in state
            .tokens
            .iter_mut()
            .flatten()
            .chain(state.value.iter_mut().rev())
        {
            *name = names.next().unwrap_or_default();
        }
        state
    }

    fn types() -> String {
        format!("{}i32", "!async.token, ".repeat(2 * BUFFERS + 1))
    }

    /// The tokens that come before accesses of these buffers.
    fn before(&self, sets: &Sets) -> Vec<String> {
        let mut tokens: Vec<String> = Vec::new();
        for (i, [write, read]) in self.tokens.iter().enumerate() {
            if sets.writes.contains(&i) {
                tokens.extend([write.clone(), read.clone()]);
            } else if sets.reads.contains(&i) {
                tokens.push(write.clone());
            }
        }
        tokens
    }
}

fn dependencies(tokens: &[String]) -> String {
    if tokens.is_empty() {
        String::new()
    } else {
        format!(" [{}]", tokens.join(", "))
    }
}

/// What a task captures.
struct Captured {
    value: String,
    /// What the value is there with, if it is not at once.
    token: Option<String>,
    kind: CaptureKind,
    number: i32,
}

#[derive(Default)]
struct Writer {
    text: String,
    functions: String,
    next: usize,
    /// How many tokens are waited for so far, and which of them is not.
    waits: usize,
    without: Option<usize>,
    /// The tokens of nothing.
    ready: HashSet<String>,
}

impl Writer {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn def(&mut self, right: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {right}"));
        name
    }

    fn ready(&mut self) -> String {
        let token = self.def("async.ready");
        self.ready.insert(token.clone());
        token
    }

    /// Nothing is in flight.
    fn fresh(&mut self, buffers: [String; BUFFERS]) -> State {
        let ready = self.ready();
        State {
            buffers,
            tokens: std::array::from_fn(|_| std::array::from_fn(|_| ready.clone())),
            value: ["%zero".into(), ready],
        }
    }

    /// Those of the tokens that are waited for.
    fn kept(&mut self, tokens: &[String]) -> Vec<String> {
        let mut kept = Vec::new();
        for token in tokens {
            // Nobody misses a wait for nothing.
            let counts = !self.ready.contains(token);
            if !counts || self.without != Some(self.waits) {
                kept.push(token.clone());
            }
            self.waits += usize::from(counts);
        }
        kept
    }

    fn wait(&mut self, tokens: &[String]) {
        for token in self.kept(tokens) {
            self.line(&format!("async.await {token}"));
        }
    }

    fn join(&mut self, tokens: &[String]) -> String {
        if tokens.is_empty() {
            return self.ready();
        }
        self.def(&format!("async.join {}", tokens.join(", ")))
    }

    /// Waits for what comes before an access of this thread.
    fn order(&mut self, place: Place, writes: bool, state: &mut State) {
        let mut sets = Sets::default();
        let set = if writes { &mut sets.writes } else { &mut sets.reads };
        set.insert(place.0);
        let tokens = state.before(&sets);
        self.wait(&tokens);
    }

    fn load(&mut self, (buffer, element): Place, state: &State) -> String {
        let buffer = &state.buffers[buffer];
        self.def(&format!("memref.load {buffer}[%c{element}] : {}", ty()))
    }

    fn store(&mut self, value: &str, (buffer, element): Place, state: &State) {
        let buffer = &state.buffers[buffer];
        self.line(&format!("memref.store {value}, {buffer}[%c{element}] : {}", ty()));
    }

    /// What has accessed these buffers is complete when `token` is.
    fn note(&mut self, sets: &Sets, token: &str, state: &mut State) {
        for &i in &sets.writes {
            // It comes after all that was done before.
            state.tokens[i] = [token.into(), token.into()];
        }
        for &i in sets.reads.difference(&sets.writes) {
            let before = state.tokens[i][1].clone();
            state.tokens[i][1] = self.join(&[before, token.into()]);
        }
    }

    fn body(&mut self, stmts: &[Stmt], state: &mut State) {
        for stmt in stmts {
            self.stmt(stmt, state);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, state: &mut State) {
        match stmt {
            Stmt::Update { to, from } => {
                self.order(*from, false, state);
                let x = self.load(*from, state);
                let product = self.def(&format!("arith.muli {x}, %three : i32"));
                let sum = self.def(&format!("arith.addi {product}, %one : i32"));
                self.order(*to, true, state);
                self.store(&sum, *to, state);
            }
            Stmt::Task(body, order, captures) => self.task(body, *order, captures, state),
            Stmt::Read(place) => {
                let mut sets = Sets::default();
                sets.reads.insert(place.0);
                let before = state.before(&sets);
                let dependencies = dependencies(&self.kept(&before));
                let (token, value) = (self.name(), self.name());
                self.line(&format!(
                    "{token}, {value} = async.region{dependencies} -> (i32) {{"
                ));
                let x = self.load(*place, state);
                self.line(&format!("async.yield {x} : i32\n}}"));
                self.note(&sets, &token, state);
                state.value = [value, token];
            }
            Stmt::Write(place) => {
                let [value, token] = state.value.clone();
                self.wait(&[token]);
                self.order(*place, true, state);
                self.store(&value, *place, state);
            }
            Stmt::If(place, then, other) => {
                self.order(*place, false, state);
                let x = self.load(*place, state);
                let odd = self.def(&format!("arith.trunci {x} : i32 to i1"));
                let results: Vec<String> = state.carried().iter().map(|_| self.name()).collect();
                let types = State::types();
                self.line(&format!("{} = scf.if {odd} -> ({types}) {{", results.join(", ")));
                for (i, arm) in [then, other].into_iter().enumerate() {
                    let mut state = state.clone();
                    self.body(arm, &mut state);
                    self.line(&format!("scf.yield {} : {types}", state.carried().join(", ")));
                    self.line(if i == 0 { "} else {" } else { "}" });
                }
                *state = state.with(&results);
            }
            Stmt::For(trip, body) => self.repeat(*trip, body, state),
            Stmt::Call(body, false) => self.call(body, state),
            Stmt::Call(body, true) => self.async_call(body, state),
            Stmt::Temporary(body, copies) => self.temporary(body, *copies, state),
        }
    }

    fn repeat(&mut self, trip: usize, body: &[Stmt], state: &mut State) {
        let init = state.carried();
        let names = |writer: &mut Self| -> Vec<String> { init.iter().map(|_| writer.name()).collect() };
        let (args, results) = (names(self), names(self));
        let bindings: Vec<String> = args
            .iter()
            .zip(&init)
            .map(|(arg, init)| format!("{arg} = {init}"))
            .collect();
        let trip = self.def(&format!("arith.constant {trip} : index"));
        let (counter, types) = (self.name(), State::types());
        self.line(&format!(
            "{} = scf.for {counter} = %c0 to {trip} step %c1 iter_args({}) -> ({types}) {{",
            results.join(", "),
            bindings.join(", ")
        ));
        let mut inner = state.with(&args);
        self.body(body, &mut inner);
        self.line(&format!("scf.yield {} : {types}\n}}", inner.carried().join(", ")));
        *state = state.with(&results);
    }

    /// The statements of a task, or of a function that nothing is in flight in; it ends with what is in flight then.
    fn inner(&mut self, body: &[Stmt], awaits: bool, buffers: [String; BUFFERS]) -> String {
        let mut inner = self.fresh(buffers);
        self.body(body, &mut inner);
        let tokens = inner.before(&Sets {
            reads: (0..BUFFERS).collect(),
            writes: (0..BUFFERS).collect(),
        });
        if awaits {
            self.wait(&tokens);
            return "async.yield".into();
        }
        let tokens = self.kept(&tokens);
        if tokens.is_empty() {
            return "async.yield".into();
        }
        let types = vec!["!async.token"; tokens.len()].join(", ");
        format!("async.yield {} : {types}", tokens.join(", "))
    }

    /// Makes what a task captures.
    fn make(&mut self, Capture { kind, number }: Capture) -> Captured {
        let constant = self.def(&format!("arith.constant {number} : i32"));
        let x = self.def(&format!("func.call @source({constant}) : (i32) -> i32"));
        let value = match kind {
            CaptureKind::Bit => self.def(&format!("arith.trunci {x} : i32 to i1")),
            CaptureKind::Int(bits) => self.resized(&x, bits),
            CaptureKind::Index => self.def(&format!("arith.index_cast {x} : i32 to index")),
            CaptureKind::Float(bits) => self.def(&format!("arith.sitofp {x} : i32 to f{bits}")),
            CaptureKind::Vector(size, bits) => {
                let element = self.resized(&x, bits);
                self.def(&format!(
                    "vector.broadcast {element} : i{bits} to vector<{size}xi{bits}>"
                ))
            }
            CaptureKind::Memref(size) => {
                let size = self.def(&format!("arith.constant {size} : index"));
                let buffer = self.def(&format!("memref.alloc({size}) : memref<?xi32>"));
                let last = self.def(&format!("arith.subi {size}, %c1 : index"));
                self.line(&format!("memref.store {x}, {buffer}[{last}] : memref<?xi32>"));
                buffer
            }
            CaptureKind::Token => {
                let (token, value) = (self.name(), self.name());
                self.line(&format!(
                    "{token}, {value} = async.region -> (i32) {{\nasync.yield {x} : i32\n}}"
                ));
                return Captured {
                    value,
                    token: Some(token),
                    kind,
                    number,
                };
            }
        };
        Captured {
            value,
            token: None,
            kind,
            number,
        }
    }

    /// An `i32` as an integer of so many bits.
    fn resized(&mut self, x: &str, bits: u32) -> String {
        match bits {
            ..32 => self.def(&format!("arith.trunci {x} : i32 to i{bits}")),
            32 => x.to_owned(),
            33.. => self.def(&format!("arith.extsi {x} : i32 to i{bits}")),
        }
    }

    /// And back.
    fn as_i32(&mut self, x: &str, bits: u32) -> String {
        match bits {
            ..32 => self.def(&format!("arith.extsi {x} : i{bits} to i32")),
            32 => x.to_owned(),
            33.. => self.def(&format!("arith.trunci {x} : i{bits} to i32")),
        }
    }

    /// Has the task fail if a value that it has captured is not what was made.
    fn check(&mut self, captured: &Captured) {
        let Captured {
            value,
            token,
            kind,
            number,
        } = captured;
        if let Some(token) = token {
            self.line(&format!("async.await {token}"));
        }
        let x = match *kind {
            CaptureKind::Bit => self.def(&format!("arith.extui {value} : i1 to i32")),
            CaptureKind::Int(bits) => self.as_i32(value, bits),
            CaptureKind::Index => self.def(&format!("arith.index_cast {value} : index to i32")),
            CaptureKind::Float(bits) => self.def(&format!("arith.fptosi {value} : f{bits} to i32")),
            CaptureKind::Vector(size, bits) => {
                let last = size - 1;
                let element = self.def(&format!(
                    "vector.extract {value}[{last}] : i{bits} from vector<{size}xi{bits}>"
                ));
                self.as_i32(&element, bits)
            }
            CaptureKind::Memref(_) => {
                let size = self.def(&format!("memref.dim {value}, %c0 : memref<?xi32>"));
                let last = self.def(&format!("arith.subi {size}, %c1 : index"));
                let x = self.def(&format!("memref.load {value}[{last}] : memref<?xi32>"));
                self.line(&format!("memref.dealloc {value} : memref<?xi32>"));
                x
            }
            CaptureKind::Token => value.clone(),
        };
        let number = if matches!(kind, CaptureKind::Bit) {
            number & 1
        } else {
            *number
        };
        let expected = self.def(&format!("arith.constant {number} : i32"));
        let equal = self.def(&format!("arith.cmpi eq, {x}, {expected} : i32"));
        self.line(&format!("cf.assert {equal}, \"captured another value\""));
    }

    fn task(&mut self, body: &[Stmt], order: Order, captures: &[Capture], state: &mut State) {
        let sets = Sets::of(body);
        let before = state.before(&sets);
        let dependencies = match order.before {
            Before::Dependency => self.kept(&before),
            Before::Await => {
                self.wait(&before);
                Vec::new()
            }
            Before::AwaitInside => Vec::new(),
            Before::Join => {
                let kept = self.kept(&before);
                vec![self.join(&kept)]
            }
        };
        let captured: Vec<Captured> = captures.iter().map(|capture| self.make(*capture)).collect();
        let token = self.name();
        let dependencies = self::dependencies(&dependencies);
        self.line(&format!("{token} = async.region{dependencies} {{"));
        for captured in &captured {
            self.check(captured);
        }
        if matches!(order.before, Before::AwaitInside) {
            self.wait(&before);
        }
        let end = self.inner(body, order.awaits_inner, state.buffers.clone());
        self.line(&format!("{end}\n}}"));
        self.note(&sets, &token, state);
    }

    /// Writes a function beside those that are there, with a text of its own.
    fn function(&mut self, head: &str, write: impl FnOnce(&mut Self) -> String) {
        let outer = std::mem::take(&mut self.text);
        let end = write(self);
        let body = std::mem::replace(&mut self.text, outer);
        let function = format!("{head} {{\n{CONSTANTS}{body}{end}\n}}\n");
        self.functions += &function;
    }

    fn call(&mut self, body: &[Stmt], state: &mut State) {
        let carried = state.carried();
        let names = |writer: &mut Self| -> Vec<String> { carried.iter().map(|_| writer.name()).collect() };
        let (args, results) = (names(self), names(self));
        let types = State::types();
        let declared: Vec<String> = args
            .iter()
            .zip(types.split(", "))
            .map(|(arg, ty)| format!("{arg}: {ty}"))
            .collect();
        let function = self.name().replace('%', "f_");
        let head = format!(
            "func.func private @{function}({}, {}) -> ({types})",
            params(),
            declared.join(", ")
        );
        let buffers = std::array::from_fn(|i| format!("%m{i}"));
        let mut inner = State {
            buffers,
            ..state.with(&args)
        };
        self.function(&head, |writer| {
            let value = inner.value.clone();
            writer.body(body, &mut inner);
            // What is read there is known there alone.
            inner.value = value;
            format!("return {} : {types}", inner.carried().join(", "))
        });
        let memrefs = vec![ty(); BUFFERS].join(", ");
        self.line(&format!(
            "{} = func.call @{function}({}, {}) : ({memrefs}, {types}) -> ({types})",
            results.join(", "),
            state.buffers.join(", "),
            carried.join(", ")
        ));
        *state = state.with(&results);
    }

    fn async_call(&mut self, body: &[Stmt], state: &mut State) {
        let sets = Sets::of(body);
        let before = state.before(&sets);
        self.wait(&before);
        let function = self.name().replace('%', "f_");
        let head = format!("async.func private @{function}({}) -> !async.token", params());
        let buffers = std::array::from_fn(|i| format!("%m{i}"));
        self.function(&head, |writer| {
            let mut inner = writer.fresh(buffers);
            writer.body(body, &mut inner);
            let tokens = inner.before(&Sets {
                reads: (0..BUFFERS).collect(),
                writes: (0..BUFFERS).collect(),
            });
            let tokens = writer.kept(&tokens);
            let token = writer.join(&tokens);
            format!("async.yield {token} : !async.token")
        });
        let memrefs = vec![ty(); BUFFERS].join(", ");
        let buffers = state.buffers.join(", ");
        let token = self.def(&format!(
            "async.call @{function}({buffers}) : ({memrefs}) -> !async.token"
        ));
        self.note(&sets, &token, state);
    }

    fn temporary(&mut self, body: &[Stmt], copies: bool, state: &mut State) {
        let last = BUFFERS - 1;
        let mut numbers = vec!["%zero".to_owned(); ELEMENTS];
        if copies {
            self.order((last, 0), false, state);
            numbers = (0..ELEMENTS)
                .map(|element| self.load((last, element), state))
                .collect();
        }
        let buffer = self.def(&format!("memref.alloc() : {}", ty()));
        let ready = self.ready();
        let outer = (state.buffers[last].clone(), state.tokens[last].clone());
        state.buffers[last].clone_from(&buffer);
        state.tokens[last] = [ready.clone(), ready];
        for (element, number) in numbers.iter().enumerate() {
            self.store(number, (last, element), state);
        }
        self.body(body, state);
        let tokens = state.tokens[last].clone();
        self.wait(&tokens);
        self.line(&format!("memref.dealloc {buffer} : {}", ty()));
        (state.buffers[last], state.tokens[last]) = outer;
    }
}
