//! Random kernels with several buffers of the workgroup, used one after the other and at once: stores, loads, copies with tokens, loops,
//! branches, and allocations in them. Each thread accesses its own elements, so they have no race as long as no two buffers share bytes.

use super::random::Random;
use std::fmt::Write;

/// How many buffers a kernel declares.
const BUFFERS: usize = 5;

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unwritten,
    /// A copy is on its way to it, with this token.
    Copied(usize),
    Written,
    /// Some warps alone use it.
    Taken,
}

struct Writer {
    random: Random,
    text: String,
    values: usize,
    /// The names of buffers that are in sight, and what they hold.
    buffers: Vec<(String, State)>,
    depth: usize,
    /// Threads may be in different places.
    apart: bool,
}

/// A random kernel.
pub fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: Random(seed),
        text: String::new(),
        values: 0,
        buffers: (0..BUFFERS)
            .map(|number| (format!("%b{number}"), State::Unwritten))
            .collect(),
        depth: 0,
        apart: false,
    };
    writer.statements(14);
    let declared: Vec<String> = (0..BUFFERS)
        .map(|number| format!("%b{number}: !Buffer"))
        .collect();
    format!(
        "!Global = memref<4096xf32>
         !Buffer = memref<64xf32, #gpu.address_space<workgroup>>
         gpu.module @kernels {{
           gpu.func @kernel(%src: !Global, %out: !Global, %p: i1) workgroup({}) kernel
               attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c2 = arith.constant 2 : index
             %c32 = arith.constant 32 : index
             %c64 = arith.constant 64 : index
             %t = gpu.thread_id x
             %q = arith.cmpi ult, %t, %c32 : index
             {}
             gpu.return
           }}
         }}",
        declared.join(", "),
        writer.text
    )
}

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.random.below(below)
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        self.values
    }

    /// Writes up to so many statements, and what completes copies that began in them.
    fn statements(&mut self, most: usize) {
        let known = self.buffers.len();
        let before: Vec<State> = self.buffers.iter().map(|(_, state)| *state).collect();
        for _ in 0..=self.draw(most) {
            self.statement();
        }
        for buffer in 0..self.buffers.len() {
            let is_new = before.get(buffer) != Some(&self.buffers[buffer].1);
            if is_new && (self.depth > 0 || self.draw(2) == 0) {
                self.wait(buffer);
            }
        }
        self.buffers.truncate(known);
    }

    fn wait(&mut self, buffer: usize) {
        if let State::Copied(token) = self.buffers[buffer].1 {
            self.line(&format!("async.await %k{token} : !async.token"));
            self.buffers[buffer].1 = State::Written;
        }
    }

    fn statement(&mut self) {
        let buffer = self.draw(self.buffers.len());
        let (name, state) = self.buffers[buffer].clone();
        let value = self.value();
        match (self.draw(16), state) {
            (0..=2, State::Unwritten | State::Written) => {
                self.line(&format!("%v{value} = memref.load %src[%t] : !Global"));
                self.line(&format!("memref.store %v{value}, {name}[%t] : !Buffer"));
                self.buffers[buffer].1 = State::Written;
            }
            (3..=6, State::Written) => {
                self.line(&format!("%v{value} = memref.load {name}[%t] : !Buffer"));
                let row = self.line_of(value);
                self.line(&format!("memref.store %v{value}, %out[{row}] : !Global"));
            }
            (7 | 8, State::Unwritten | State::Written) => {
                self.line(&format!(
                    "%k{value} = gpux.copy async %src[%t], {name}[%t], 1 : !Global to !Buffer"
                ));
                self.buffers[buffer].1 = State::Copied(value);
            }
            (5..=9, State::Copied(_)) => self.wait(buffer),
            (10 | 11, _) if !self.apart => self.line("gpu.barrier"),
            (12, _) if self.depth < 2 => {
                self.line(&format!("scf.for %i{value} = %c0 to %c2 step %c1 {{"));
                self.nested(true, false);
            }
            (13, _) if self.depth < 2 => {
                let condition = ["%p", "%q"][self.draw(2)];
                self.line(&format!("scf.if {condition} {{"));
                self.nested(false, condition == "%q");
            }
            (15, State::Unwritten | State::Written) if self.depth < 2 => match self.draw(2) {
                0 => self.rotation(buffer),
                _ => self.of_a_warp(buffer),
            },
            (14, _) if self.buffers.len() < BUFFERS + 3 => {
                self.line(&format!("%a{value} = memref.alloc() : !Buffer"));
                self.buffers.push((format!("%a{value}"), State::Unwritten));
            }
            _ => {}
        }
    }

    /// An index of the output that no other statement writes to.
    fn line_of(&mut self, value: usize) -> String {
        self.line(&format!("%d{value} = arith.constant {} : index", value % 63 * 64));
        self.line(&format!("%r{value} = arith.addi %d{value}, %t : index"));
        format!("%r{value}")
    }

    /// A loop that uses what the iteration before has copied to a buffer.
    fn rotation(&mut self, buffer: usize) {
        let name = self.buffers[buffer].0.clone();
        let [first, carried, next, result] = [(); 4].map(|()| self.value());
        let copy = |token: usize| {
            format!("%k{token} = gpux.copy async %src[%t], {name}[%t], 1 : !Global to !Buffer")
        };
        self.line(&copy(first));
        self.line(&format!(
            "%k{result} = scf.for %i{result} = %c0 to %c2 step %c1 iter_args(%k{carried} = %k{first}) -> !async.token {{"
        ));
        self.line(&format!("async.await %k{carried} : !async.token"));
        self.buffers[buffer].1 = State::Written;
        self.depth += 1;
        self.statements(4);
        self.depth -= 1;
        self.line(&copy(next));
        self.line(&format!("scf.yield %k{next} : !async.token"));
        self.line("}");
        self.buffers[buffer].1 = State::Copied(result);
    }

    /// A copy that the first warp begins, and awaits later on.
    fn of_a_warp(&mut self, buffer: usize) {
        let name = self.buffers[buffer].0.clone();
        let [own, ready, result, value] = [(); 4].map(|()| self.value());
        let lines = [
            format!("%k{result} = scf.if %q -> (!async.token) {{"),
            format!("%k{own} = gpux.copy async %src[%t], {name}[%t], 1 : !Global to !Buffer"),
            format!("scf.yield %k{own} : !async.token"),
            "} else {".to_owned(),
            format!("%k{ready} = async.ready"),
            format!("scf.yield %k{ready} : !async.token"),
            "}".to_owned(),
        ];
        for line in &lines {
            self.line(line);
        }
        self.buffers[buffer].1 = State::Taken;
        self.depth += 1;
        self.statements(4);
        self.depth -= 1;
        self.line("scf.if %q {");
        self.line(&format!("async.await %k{result} : !async.token"));
        self.line(&format!("%v{value} = memref.load {name}[%t] : !Buffer"));
        let row = self.line_of(value);
        self.line(&format!("memref.store %v{value}, %out[{row}] : !Global"));
        self.line("}");
        self.buffers[buffer].1 = State::Unwritten;
    }

    /// Statements in a region, which `always` runs or not, in threads that are `apart` or not.
    fn nested(&mut self, always: bool, apart: bool) {
        let before = (self.buffers.clone(), self.apart);
        self.depth += 1;
        self.apart |= apart;
        self.statements(6);
        self.depth -= 1;
        self.apart = before.1;
        self.line("}");
        if !always {
            self.buffers = before.0;
        }
    }
}
