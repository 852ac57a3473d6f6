//! Statements without others in them.

use super::THREADS;
use super::stmt::{Condition, Issue, Lane, Stmt, View};
use super::write::{Scope, Writer};

impl Writer {
    pub(super) fn stmt(&mut self, stmt: &Stmt, scope: &mut Scope) {
        match stmt {
            Stmt::Fill(slot, issue, view) => self.fill(*slot, *issue, *view, scope),
            Stmt::Use(slots, joined, view, lane) => self.read(slots, *joined, (*view, *lane), scope),
            Stmt::Select(condition, a, b) => self.select(*condition, [*a, *b], scope),
            Stmt::Put(slot) => {
                self.barrier();
                self.wait_for(&[scope.slots[*slot].0.clone()]);
                let place = &scope.slots[*slot].1;
                self.line(&format!("memref.store %one, %slots[{place}, %t] : !slots"));
            }
            Stmt::Made(global, lane) => self.made(*global, *lane),
            Stmt::Await(slot) => {
                self.wait_for(&[scope.slots[*slot].0.clone()]);
                self.line("memref.store %one, %out[%c4, %t] : !out");
            }
            Stmt::AwaitOld(which) => {
                if !scope.old.is_empty() {
                    let token = scope.old[usize::from(*which) % scope.old.len()].clone();
                    self.wait_for(&[token]);
                    self.line("memref.store %one, %out[%c4, %t] : !out");
                }
            }
            Stmt::Ready(slot) => {
                self.wait_for(&[scope.slots[*slot].0.clone()]);
                if !self.profile.nvgpu {
                    scope.slots[*slot].0 = self.def("async.ready");
                }
            }
            Stmt::Rotate => Self::rotate(scope),
            Stmt::Set(flag, condition) => scope.flags[*flag] = self.condition(*condition, scope),
            Stmt::Count(n) => scope.count = format!("%c{n}"),
            Stmt::Pass(slot) => {
                let (token, ty) = (&scope.slots[*slot].0, self.token());
                self.line(&format!("func.call @hold({token}) : ({ty}) -> ()"));
            }
            Stmt::Copy => self.counted_copy(),
            Stmt::Commit if self.profile.nvgpu => {
                let ty = self.token();
                self.def(&format!("\"nvgpu.device_async_create_group\"() : () -> {ty}"));
            }
            Stmt::Commit => self.line("gpux.commit_group <cp_async>"),
            Stmt::Wait(n) if self.profile.nvgpu => self.line(&format!("nvvm.cp.async.wait.group {n}")),
            Stmt::Wait(n) => self.line(&format!("gpux.wait_group <cp_async>, {n}")),
            Stmt::Store(slot, row) => self.store(*slot, *row, scope),
            Stmt::Barrier => self.line("gpu.barrier"),
            Stmt::Write(true) => {
                self.line("func.call @write(%out, %t, %one) : (!out, index, f32) -> ()");
            }
            Stmt::Write(false) => self.line("memref.store %zero, %out[%c4, %t] : !out"),
            nest => self.nest(nest, scope),
        }
    }

    /// A slot as a memref of one dimension.
    fn line_of(&mut self, place: &str) -> String {
        self.def(&format!(
            "memref.subview %slots[{place}, 0] [1, {THREADS}] [1, 1] : !slots to !line"
        ))
    }

    /// An element of a slot: a memref, indices, and its type.
    fn element(&mut self, place: &str, lane: &str, view: View) -> String {
        match view {
            View::Plain => format!("%slots[{place}, {lane}] : !slots"),
            View::Subview => {
                let line = self.line_of(place);
                format!("{line}[{lane}] : !line")
            }
            View::Flat => {
                let flat = self.def("memref.collapse_shape %slots [[0, 1]] : !slots into !flat");
                let first = self.def(&format!("arith.muli {place}, %c8 : index"));
                let at = self.def(&format!("arith.addi {first}, {lane} : index"));
                format!("{flat}[{at}] : !flat")
            }
            View::Recast | View::Beyond => {
                let (of, ty) = match view {
                    View::Recast => ("%slots".to_owned(), "!slots"),
                    _ => (self.def("memref.view %bytes[%c0][] : !bytes to !first"), "!first"),
                };
                let first = self.def(&format!("arith.muli {place}, %c8 : index"));
                let line = self.def(&format!(
                    "memref.reinterpret_cast {of} to offset: [{first}], sizes: [{THREADS}], strides: [1] : {ty} to !line"
                ));
                format!("{line}[{lane}] : !line")
            }
        }
    }

    /// A row of the source that other statements and iterations take another one of.
    fn source_row(&mut self, scope: &Scope) -> String {
        let number = self.number();
        let number = self.def(&format!("arith.constant {number} : index"));
        let row = self.def(&format!("arith.addi {number}, {} : index", scope.clock));
        self.def(&format!("arith.andi {row}, %c15 : index"))
    }

    fn fill(&mut self, slot: usize, issue: Issue, view: View, scope: &mut Scope) {
        let (token, place) = scope.slots[slot].clone();
        self.barrier();
        if issue != Issue::Depends || self.profile.nvgpu || self.barriers {
            self.wait_for(std::slice::from_ref(&token));
        }
        let row = self.source_row(scope);
        if issue == Issue::Bulk {
            let from = self.def(&format!(
                "memref.subview %src[{row}, 0] [1, {THREADS}] [1, 1] : !src to memref<8xf32, strided<[1], offset: ?>>"
            ));
            let to = self.line_of(&place);
            scope.slots[slot].0 = self.def(&format!(
                "gpux.bulk_load async {from}, {to} : memref<8xf32, strided<[1], offset: ?>> to !line"
            ));
            return;
        }
        let element = self.element(&place, "%t", view);
        let (to, ty) = element.split_once(" : ").expect("a memref and its type");
        let copy = format!("%src[{row}, %t], {to}, 1 : !src to {ty}");
        let begun = if self.profile.nvgpu {
            let copy = self.def(&format!("nvgpu.device_async_copy {copy}"));
            self.def(&format!("nvgpu.device_async_create_group {copy}"))
        } else {
            match issue {
                Issue::Depends => self.def(&format!("gpux.copy async [{token}] {copy}")),
                Issue::Region => {
                    let region = self.name();
                    self.line(&format!("{region} = async.region {{"));
                    let inner = self.def(&format!("gpux.copy async {copy}"));
                    self.line(&format!("async.yield {inner} : !async.token\n}}"));
                    region
                }
                _ => self.def(&format!("gpux.copy async {copy}")),
            }
        };
        scope.old.push(begun.clone());
        scope.slots[slot].0 = begun;
    }

    fn read(&mut self, slots: &[usize], joined: bool, (view, lane): (View, Lane), scope: &Scope) {
        self.barrier();
        let mut tokens: Vec<String> = slots.iter().map(|slot| scope.slots[*slot].0.clone()).collect();
        if joined && !self.profile.nvgpu {
            tokens = vec![self.def(&format!("async.join {}", tokens.join(", ")))];
        }
        self.wait_for(&tokens);
        let lane = lane.index();
        for slot in slots {
            let element = self.element(&scope.slots[*slot].1, lane, view);
            self.add(&element, *slot);
        }
    }

    fn made(&mut self, global: bool, lane: Lane) {
        // Others may still read what the last call has written to the global.
        self.barrier();
        let function = if global { "global" } else { "new" };
        let made = self.def(&format!(
            "func.call @{function}(%t, %one) : (index, f32) -> !made"
        ));
        self.barrier();
        self.add(&format!("{made}[{}] : !made", lane.index()), 0);
    }

    /// Adds an element to one of the output.
    fn add(&mut self, element: &str, row: usize) {
        let x = self.def(&format!("memref.load {element}"));
        let sum = self.def(&format!("memref.load %out[%c{row}, %t] : !out"));
        let sum = self.def(&format!("arith.addf {sum}, {x} : f32"));
        self.line(&format!("memref.store {sum}, %out[%c{row}, %t] : !out"));
    }

    fn select(&mut self, condition: Condition, [a, b]: [usize; 2], scope: &mut Scope) {
        let condition = self.condition(condition, scope);
        let ((first, at_first), (second, at_second)) = (scope.slots[a].clone(), scope.slots[b].clone());
        let ty = self.token();
        let token = self.def(&format!("arith.select {condition}, {first}, {second} : {ty}"));
        let place = self.def(&format!(
            "arith.select {condition}, {at_first}, {at_second} : index"
        ));
        self.barrier();
        self.wait_for(std::slice::from_ref(&token));
        let element = self.element(&place, "%t", View::Plain);
        self.add(&element, a);
        scope.old.push(token);
    }

    fn rotate(scope: &mut Scope) {
        let movable: Vec<usize> = (0..scope.slots.len())
            .filter(|slot| scope.movable[*slot])
            .collect();
        for pair in movable.windows(2) {
            scope.slots.swap(pair[0], pair[1]);
        }
    }

    fn counted_copy(&mut self) {
        let row = self.number() % 64;
        let row = self.def(&format!("arith.constant {row} : index"));
        let copy = format!("%src[%c0, %t], %extra[{row}, %t], 1 : !src to !extra");
        if self.profile.nvgpu {
            self.def(&format!("nvgpu.device_async_copy {copy}"));
        } else {
            self.line(&format!("gpux.copy {copy}"));
        }
    }

    fn store(&mut self, slot: usize, row: usize, scope: &mut Scope) {
        let tokens = [scope.slots[slot].0.clone(), scope.rows[row].clone()];
        self.wait_for(&tokens);
        let from = self.line_of(&scope.slots[slot].1.clone());
        let to = self.def(&format!(
            "memref.subview %rows[{row}, 0] [1, {THREADS}] [1, 1] : !rows to memref<8xf32, strided<[1], offset: {}>>",
            row * THREADS
        ));
        let (read, done) = (self.name(), self.name());
        self.line(&format!(
            "{read}, {done} = gpux.bulk_store async {from}, {to} : !line to memref<8xf32, strided<[1], offset: {}>>",
            row * THREADS
        ));
        scope.slots[slot].0.clone_from(&read);
        scope.rows[row].clone_from(&done);
        scope.old.extend([read, done]);
    }
}
