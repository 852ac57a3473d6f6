//! Work that is in flight where a random loop is entered, and how it comes to an await in the loop.

use super::body::Body;
use super::forms::Form;
use super::{Loop, Stmt, random_loop};
use proptest::prelude::*;
use std::fmt::Write;

/// How the token of a copy that is issued before the loop comes to the await in it, before what may touch the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// As it is.
    Directly,
    /// The loop carries it.
    Carried,
    /// The loop carries it, and it changes places with another one in each iteration.
    Swapped,
    /// It is awaited in the first iteration alone.
    Once,
    /// It comes to the await in the second iteration.
    Later,
}

/// A loop with work before it.
pub fn random_loop_with_work_before() -> impl Strategy<Value = Loop> {
    let handed = || {
        prop_oneof![
            Just(Handed::Directly),
            Just(Handed::Carried),
            Just(Handed::Swapped),
            Just(Handed::Once),
            Just(Handed::Later),
        ]
    };
    let early = prop::collection::vec(prop::option::weighted(0.4, handed()), 6);
    let stmt = prop_oneof![
        (handed(), 0..3_u32).prop_map(|(handed, shift)| Stmt::Preloaded(handed, shift)),
        (0..3_u32).prop_map(Stmt::Behind),
    ];
    let more = prop::collection::vec((stmt, 0..8_usize), 0..3);
    (random_loop(), early, more).prop_map(|(mut random, early, more)| {
        for (stmt, place) in more {
            // The first statement makes the first buffer.
            let place = 1 + place % random.stmts.len();
            random.stmts.insert(place, stmt);
        }
        Loop { early, ..random }
    })
}

/// What a copy before the loop writes to: the buffer itself, or a view of it.
fn view(number: usize, buffer: &str, ty: &str) -> (String, String, &'static str) {
    let view = format!("%view{number}");
    let (op, result) = match number % 4 {
        1 => ("memref.cast {}", "memref<?xi32, #gpu.address_space<workgroup>>"),
        2 => (
            "memref.subview {}[0] [16] [1]",
            "memref<16xi32, strided<[1]>, #gpu.address_space<workgroup>>",
        ),
        3 => (
            "memref.reinterpret_cast {} to offset: [0], sizes: [16], strides: [1]",
            "memref<16xi32, strided<[1]>, #gpu.address_space<workgroup>>",
        ),
        _ => return (String::new(), buffer.to_owned(), ""),
    };
    let line = format!("{view} = {} : {ty} to {result}\n", op.replace("{}", buffer));
    (line, view, result)
}

impl Body {
    /// Has a copy to `buffer` begin before the loop, or a store that reads it, and awaits that here, in a statement of its own; returns
    /// its number.
    pub fn await_early(&mut self, handed: Handed, buffer: &str, ty: &'static str, reads: bool) -> usize {
        let number = self.copied_before;
        self.copied_before += 1;
        let (view, place, view_ty) = view(number, buffer, ty);
        let ty = if view_ty.is_empty() { ty } else { view_ty };
        // The same thread, by a number that is narrower on the way.
        let (bits, at) = match number % 3 {
            0 => (String::new(), "%t".to_owned()),
            width => {
                let bits = 8 * width;
                (
                    format!(
                        "%narrow{number} = arith.index_cast %t : index to i{bits}\n%at{number} = arith.index_castui %narrow{number} : i{bits} to index\n"
                    ),
                    format!("%at{number}"),
                )
            }
        };
        let part = self.part();
        if matches!(self.form, Form::Nvgpu(_)) {
            write!(self.before, "{view}{bits}%early{number} = nvgpu.device_async_copy %other[%t{shift}], {place}[{at}], 1 : memref<?xi32> to {ty}
%group{number} = nvgpu.device_async_create_group %early{number}\n",
                shift = ["", "1", "2"][number % 3]).expect("memory");
            let groups = self
                .lines
                .iter()
                .filter(|line| line.text.contains("create_group"));
            let since = groups.count();
            self.op(
                part,
                format!("nvgpu.device_async_wait %group{number} {{numGroups = <{number}+{since}> : i32}}"),
            );
            writeln!(self.after, "nvgpu.device_async_wait %group{number}").expect("memory");
            return number;
        }
        if reads {
            // A store that reads the buffer.
            write!(
                self.before,
                "memref.store %c31, {buffer}[%t] : !Tile
%early{number}, %stored{number} = gpux.bulk_store async {buffer}, %kept : !Tile to !Kept\n"
            )
            .expect("memory");
            writeln!(self.after, "async.await %stored{number}").expect("memory");
            self.await_token(part, handed, number);
            return number;
        }
        writeln!(self.before, "{view}{bits}%early{number} = gpux.copy async %other[%t{shift}], {place}[{at}], 1 : memref<?xi32> to {ty}",
            shift = ["", "1", "2"][number % 3]).expect("memory");
        self.await_token(part, handed, number);
        number
    }

    /// Awaits what is issued before the loop, in a statement.
    fn await_token(&mut self, part: usize, handed: Handed, number: usize) {
        let token = format!("%early{number}");
        // The loop may run zero times.
        writeln!(self.after, "async.await {token}").expect("memory");
        let [first, second] = [0, 1].map(|more| format!("%q{}", self.handed.len() + more));
        let none = || "%none".to_owned();
        let line = match handed {
            Handed::Directly => format!("async.await {token} {{}}"),
            Handed::Once => format!("scf.if %first {{\n  async.await {token}\n}} {{}}"),
            Handed::Carried => {
                self.handed.push((token, first.clone()));
                format!("async.await {first} {{}}")
            }
            Handed::Swapped => {
                self.handed.push((token, second.clone()));
                self.handed.push((none(), first.clone()));
                format!("async.await {first} {{}}")
            }
            Handed::Later => {
                self.handed.push((none(), second.clone()));
                self.handed.push((token, none()));
                format!("async.await {first} {{}}")
            }
        };
        self.op(part, line);
    }

    /// Reads what a copy before the loop brings.
    pub fn preloaded(&mut self, handed: Handed, shift: u32) {
        let name = format!("%early_tile{}", self.copied_before);
        writeln!(self.more_buffers, "{name} = memref.alloc() : !Tile").expect("memory");
        let number = self.await_early(handed, &name, "!Tile", false);
        let part = self.part();
        // Where some iterations don't wait, threads only know of their own copies.
        let place = match handed {
            Handed::Once | Handed::Later => "%t".to_owned(),
            _ => format!("%s{shift}"),
        };
        let load = format!("memref.load {name}[{place}]");
        if handed == Handed::Later {
            self.op(part, format!("%found{number} = scf.if %first -> i32 {{\n  scf.yield %zero : i32\n}} else {{\n  %u = {load} : !Tile\n  scf.yield %u : i32\n}} {{}}"));
        } else {
            self.op(part, format!("%found{number} = {load} {{}} : !Tile"));
        }
        self.sum(part, &format!("%found{number}"));
    }

    /// Copies a row, and reads what the iteration before has copied; the first one, what comes from before the loop.
    pub fn behind(&mut self, shift: u32) {
        let number = self.copied_before;
        self.copied_before += 1;
        writeln!(self.more_buffers, "%rows{number} = memref.alloc() : !Rows").expect("memory");
        let (wait, read, issue) = (self.part(), self.part(), self.part());
        self.no_later.extend([read, issue]);
        let copy = |from: &str, row: &str| match self.form {
            Form::Nvgpu(_) => {
                format!("nvgpu.device_async_copy %in[{from}], %rows{number}[{row}, %t], 1")
            }
            _ => format!("gpux.copy async %in[{from}], %rows{number}[{row}, %t], 1"),
        };
        let (early, late) = (copy("%t", "%row_before"), copy("%from", "%row"));
        let ty = "memref<?xi32> to !Rows";
        writeln!(self.before, "%early{number} = {early} : {ty}").expect("memory");
        if matches!(self.form, Form::Nvgpu(_)) {
            writeln!(
                self.before,
                "%group{number} = nvgpu.device_async_create_group %early{number}"
            )
            .expect("memory");
            self.op(
                wait,
                format!("nvgpu.device_async_wait %group{number} {{numGroups = 0 : i32}}"),
            );
            self.op(issue, format!("%late{number} = {late} {{}} : {ty}"));
            self.op(
                issue,
                format!("%late_group{number} = nvgpu.device_async_create_group %late{number} {{}}"),
            );
            writeln!(self.after, "nvgpu.device_async_wait %group{number}").expect("memory");
        } else {
            let token = self.handed.len();
            self.handed
                .push((format!("%early{number}"), format!("%late{number}")));
            self.op(wait, format!("async.await %q{token} {{}}"));
            self.op(issue, format!("%late{number} = {late} {{}} : {ty}"));
            self.awaited_after.push(token);
        }
        // Reads come before the copy, as their parts do.
        let issued: Vec<_> = self.lines.extract_if(.., |line| line.part == issue).collect();
        self.op(
            read,
            format!("%row_read{number} = memref.load %rows{number}[%last_row, %s{shift}] {{}} : !Rows"),
        );
        self.sum(read, &format!("%row_read{number}"));
        self.lines.extend(issued);
    }

    /// Writes how many groups may stay in flight at each wait for one from before the loop: as many as there are younger ones.
    pub fn count_groups(&mut self) {
        let groups = self.before.lines().filter(|line| line.contains("create_group"));
        let order: Vec<String> = groups
            .filter_map(|line| Some(line.split_once(" =")?.0.replace("%group", "")))
            .collect();
        for line in &mut self.lines {
            let Some((head, rest)) = line
                .text
                .split_once('<')
                .filter(|(head, _)| head.ends_with("numGroups = "))
            else {
                continue;
            };
            let (count, tail) = rest.split_once('>').expect("a count");
            let (number, since) = count.split_once('+').expect("a sum");
            let place = order.iter().position(|other| other == number).expect("a group");
            let since: usize = since.parse().expect("a number");
            let younger = order.len() - 1 - place + since;
            line.text = format!("{head}{younger}{tail}");
        }
    }
}
