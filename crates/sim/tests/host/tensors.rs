//! The same programs on tensors: what is written is a new value, and whoever uses a value waits for its token.

use super::{BUFFERS, Before, ELEMENTS, Order, Place, Sets, Stmt};
use std::fmt::Write;

/// The text of a program on tensors, whose buffers begin as 0, 1, 2, …; it writes what they are in the end to its arguments.
/// If it is `settled`, it awaits all values before loops, branches and calls take them, and before they hand them on.
pub fn tensor_program(stmts: &[Stmt], settled: bool) -> String {
    let mut writer = Writer {
        settled,
        ..Writer::default()
    };
    let numbers: Vec<String> = (0..ELEMENTS)
        .map(|number| writer.def(&format!("arith.constant {number} : i32")))
        .collect();
    let ready = writer.def("async.ready");
    let mut state = State {
        values: std::array::from_fn(|_| writer.tensor(&numbers)),
        tokens: std::array::from_fn(|_| ready.clone()),
        value: ["%zero".into(), ready],
    };
    writer.body(stmts, &mut state);
    let tokens = state.tokens.clone();
    writer.wait(&tokens);
    for (i, value) in state.values.iter().enumerate() {
        writer.line(&format!(
            "bufferization.materialize_in_destination {value} in writable %m{i} : ({}, {MEMREF}) -> ()",
            ty()
        ));
    }
    let params: Vec<String> = (0..BUFFERS).map(|i| format!("%m{i}: {MEMREF}")).collect();
    let (functions, body) = (&writer.functions, &writer.text);
    format!(
        "{functions}func.func @main({}) {{\n{CONSTANTS}{body}return\n}}\n",
        params.join(", ")
    )
}

const MEMREF: &str = "memref<2xi32>";
const CONSTANTS: &str = super::write::CONSTANTS;

fn ty() -> String {
    format!("tensor<{ELEMENTS}xi32>")
}

/// What is known at a place of the program.
#[derive(Clone)]
struct State {
    values: [String; BUFFERS],
    /// For each, the token that it may be used after.
    tokens: [String; BUFFERS],
    /// A number, and the token that it may be used after.
    value: [String; 2],
}

impl State {
    fn carried(&self) -> Vec<String> {
        let all = self.values.iter().chain(&self.tokens).chain(&self.value);
        all.cloned().collect()
    }

    fn with(carried: &[String]) -> Self {
        Self {
            values: std::array::from_fn(|i| carried[i].clone()),
            tokens: std::array::from_fn(|i| carried[BUFFERS + i].clone()),
            value: std::array::from_fn(|i| carried[2 * BUFFERS + i].clone()),
        }
    }

    fn types() -> String {
        let mut types = vec![ty(); BUFFERS];
        types.extend(vec!["!async.token".to_owned(); BUFFERS]);
        types.extend(["i32".to_owned(), "!async.token".to_owned()]);
        types.join(", ")
    }

    /// The tokens of what is used.
    fn before(&self, sets: &Sets) -> Vec<String> {
        let used = sets.reads.union(&sets.writes);
        used.map(|&i| self.tokens[i].clone()).collect()
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    functions: String,
    next: usize,
    settled: bool,
}

impl Writer {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.name()).collect()
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn def(&mut self, right: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {right}"));
        name
    }

    fn wait(&mut self, tokens: &[String]) {
        for token in tokens {
            self.line(&format!("async.await {token}"));
        }
    }

    fn tensor(&mut self, numbers: &[String]) -> String {
        self.def(&format!("tensor.from_elements {} : {}", numbers.join(", "), ty()))
    }

    fn get(&mut self, (buffer, element): Place, state: &State) -> String {
        let value = &state.values[buffer];
        self.def(&format!("tensor.extract {value}[%c{element}] : {}", ty()))
    }

    fn put(&mut self, number: &str, (buffer, element): Place, state: &mut State) {
        let value = &state.values[buffer];
        state.values[buffer] = self.def(&format!(
            "tensor.insert {number} into {value}[%c{element}] : {}",
            ty()
        ));
    }

    fn use_of(&mut self, place: Place, state: &State) {
        let token = state.tokens[place.0].clone();
        self.wait(&[token]);
    }

    fn body(&mut self, stmts: &[Stmt], state: &mut State) {
        for stmt in stmts {
            self.stmt(stmt, state);
        }
    }

    fn settle(&mut self, state: &State) {
        if self.settled {
            self.wait(&state.tokens);
            self.wait(&state.value[1..]);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, state: &mut State) {
        if matches!(stmt, Stmt::If(..) | Stmt::For(..) | Stmt::Call(..)) {
            self.settle(state);
        }
        match stmt {
            Stmt::Update { to, from } => {
                self.use_of(*from, state);
                let x = self.get(*from, state);
                let product = self.def(&format!("arith.muli {x}, %three : i32"));
                let sum = self.def(&format!("arith.addi {product}, %one : i32"));
                self.use_of(*to, state);
                self.put(&sum, *to, state);
            }
            Stmt::Task(body, order, _) => self.task(body, *order, state),
            Stmt::Read(place) => {
                let (token, value) = (self.name(), self.name());
                let before = &state.tokens[place.0];
                self.line(&format!("{token}, {value} = async.region [{before}] -> (i32) {{"));
                let x = self.get(*place, state);
                self.line(&format!("async.yield {x} : i32\n}}"));
                state.value = [value, token];
            }
            Stmt::Write(place) => {
                let [value, token] = state.value.clone();
                self.wait(&[token]);
                self.use_of(*place, state);
                self.put(&value, *place, state);
            }
            Stmt::If(place, then, other) => {
                self.use_of(*place, state);
                let x = self.get(*place, state);
                let odd = self.def(&format!("arith.trunci {x} : i32 to i1"));
                let (results, types) = (self.names(state.carried().len()), State::types());
                self.line(&format!("{} = scf.if {odd} -> ({types}) {{", results.join(", ")));
                for (i, arm) in [then, other].into_iter().enumerate() {
                    let mut state = state.clone();
                    self.body(arm, &mut state);
                    self.settle(&state);
                    self.line(&format!("scf.yield {} : {types}", state.carried().join(", ")));
                    self.line(if i == 0 { "} else {" } else { "}" });
                }
                *state = State::with(&results);
            }
            Stmt::For(trip, body) => self.repeat(*trip, body, state),
            Stmt::Call(body, false) => self.call(body, state),
            Stmt::Call(body, true) => self.async_call(body, state),
            Stmt::Temporary(body, copies) => {
                let last = BUFFERS - 1;
                let outer = (state.values[last].clone(), state.tokens[last].clone());
                // A value can be read after others have been made of it.
                if !copies {
                    state.values[last] = self.tensor(&vec!["%zero".to_owned(); ELEMENTS]);
                    state.tokens[last] = self.def("async.ready");
                }
                self.body(body, state);
                (state.values[last], state.tokens[last]) = outer;
            }
        }
    }

    fn repeat(&mut self, trip: usize, body: &[Stmt], state: &mut State) {
        let init = state.carried();
        let (args, results) = (self.names(init.len()), self.names(init.len()));
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
        let mut inner = State::with(&args);
        self.body(body, &mut inner);
        self.settle(&inner);
        self.line(&format!("scf.yield {} : {types}\n}}", inner.carried().join(", ")));
        *state = State::with(&results);
    }

    /// The state in a task, or in a function that nothing is in flight in.
    fn inner(&mut self, values: [String; BUFFERS]) -> State {
        let ready = self.def("async.ready");
        State {
            values,
            tokens: std::array::from_fn(|_| ready.clone()),
            value: ["%zero".into(), ready],
        }
    }

    fn task(&mut self, body: &[Stmt], order: Order, state: &mut State) {
        let sets = Sets::of(body);
        let before = if self.settled {
            // Loops inside take all values.
            state.tokens.to_vec()
        } else {
            state.before(&sets)
        };
        let dependencies = match order.before {
            Before::Dependency => before.join(", "),
            Before::Await => {
                self.wait(&before);
                String::new()
            }
            Before::AwaitInside => String::new(),
            Before::Join if before.is_empty() => String::new(),
            Before::Join => self.def(&format!("async.join {}", before.join(", "))),
        };
        let dependencies = if dependencies.is_empty() {
            dependencies
        } else {
            format!(" [{dependencies}]")
        };
        let token = self.name();
        let results = self.names(sets.writes.len());
        let types = vec![ty(); results.len()].join(", ");
        let (list, arrow) = if results.is_empty() {
            (token.clone(), String::new())
        } else {
            (
                format!("{token}, {}", results.join(", ")),
                format!(" -> ({types})"),
            )
        };
        self.line(&format!("{list} = async.region{dependencies}{arrow} {{"));
        if matches!(order.before, Before::AwaitInside) {
            self.wait(&before);
        }
        let mut inner = self.inner(state.values.clone());
        self.body(body, &mut inner);
        let mut tokens: Vec<String> = sets.writes.iter().map(|&i| inner.tokens[i].clone()).collect();
        if order.awaits_inner {
            self.wait(&tokens);
            tokens.clear();
        }
        let values = sets.writes.iter().map(|&i| inner.values[i].clone());
        let mut yielded: Vec<String> = values.collect();
        let mut types = vec![ty(); yielded.len()];
        types.extend(tokens.iter().map(|_| "!async.token".to_owned()));
        yielded.extend(tokens);
        if yielded.is_empty() {
            self.line("async.yield\n}");
        } else {
            self.line(&format!(
                "async.yield {} : {}\n}}",
                yielded.join(", "),
                types.join(", ")
            ));
        }
        for (&i, result) in sets.writes.iter().zip(results) {
            (state.values[i], state.tokens[i]) = (result, token.clone());
        }
    }

    /// Writes a function beside those that are there, with a text of its own.
    fn function(&mut self, head: &str, write: impl FnOnce(&mut Self) -> String) {
        let outer = std::mem::take(&mut self.text);
        let end = write(self);
        let body = std::mem::replace(&mut self.text, outer);
        let _ = writeln!(self.functions, "{head} {{\n{CONSTANTS}{body}{end}\n}}");
    }

    fn call(&mut self, body: &[Stmt], state: &mut State) {
        let carried = state.carried();
        let (args, results) = (self.names(carried.len()), self.names(carried.len()));
        let types = State::types();
        let declared: Vec<String> = args
            .iter()
            .zip(types.split(", "))
            .map(|(arg, ty)| format!("{arg}: {ty}"))
            .collect();
        let function = self.name().replace('%', "f_");
        let head = format!(
            "func.func private @{function}({}) -> ({types})",
            declared.join(", ")
        );
        self.function(&head, |writer| {
            let mut inner = State::with(&args);
            let value = inner.value.clone();
            writer.body(body, &mut inner);
            writer.settle(&inner);
            inner.value = value;
            format!("return {} : {types}", inner.carried().join(", "))
        });
        self.line(&format!(
            "{} = func.call @{function}({}) : ({types}) -> ({types})",
            results.join(", "),
            carried.join(", ")
        ));
        *state = State::with(&results);
    }

    fn async_call(&mut self, body: &[Stmt], state: &mut State) {
        let sets = Sets::of(body);
        let before = state.before(&sets);
        self.wait(&before);
        let function = self.name().replace('%', "f_");
        let args: [String; BUFFERS] = std::array::from_fn(|i| format!("%m{i}"));
        let declared: Vec<String> = args.iter().map(|arg| format!("{arg}: {}", ty())).collect();
        let mut types = vec![ty(); sets.writes.len()];
        types.push("!async.token".into());
        let types = types.join(", ");
        let head = format!(
            "async.func private @{function}({}) -> ({types})",
            declared.join(", ")
        );
        self.function(&head, |writer| {
            let mut inner = writer.inner(args.clone());
            writer.body(body, &mut inner);
            let tokens: Vec<String> = sets.writes.iter().map(|&i| inner.tokens[i].clone()).collect();
            let token = if tokens.is_empty() {
                writer.def("async.ready")
            } else {
                writer.def(&format!("async.join {}", tokens.join(", ")))
            };
            let values = sets.writes.iter().map(|&i| inner.values[i].clone());
            let yielded: Vec<String> = values.chain([token]).collect();
            format!("async.yield {} : {types}", yielded.join(", "))
        });
        let mut results = self.names(sets.writes.len() + 1);
        let tensors = vec![ty(); BUFFERS].join(", ");
        self.line(&format!(
            "{} = async.call @{function}({}) : ({tensors}) -> ({types})",
            results.join(", "),
            state.values.join(", ")
        ));
        let token = results.pop().unwrap_or_default();
        for (&i, result) in sets.writes.iter().zip(results) {
            (state.values[i], state.tokens[i]) = (result, token.clone());
        }
    }
}
