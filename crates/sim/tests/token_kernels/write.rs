//! From statements to text: values, and what regions hand on.

use super::stmt::{Carry, FLAGS, ROWS, SLOTS, Stmt};
use super::{Kernel, Profile, THREADS};
use std::fmt::Write;

/// What is known where a statement is written.
#[derive(Clone)]
pub(super) struct Scope {
    /// The token of what was begun last on each slot, and where the slot is.
    pub slots: [(String, String); SLOTS],
    /// The tokens of the last stores to rows.
    pub rows: [String; ROWS],
    pub flags: [String; FLAGS],
    pub count: String,
    /// Slots that may change places: those that all regions around hand on.
    pub movable: [bool; SLOTS],
    /// A number of the iteration, of type index.
    pub clock: String,
    /// The same of the innermost loop alone.
    pub iteration: String,
    /// Tokens of old.
    pub old: Vec<String>,
    /// Whether the region may have several blocks.
    pub in_blocks: bool,
}

/// What writes a kernel.
pub(super) struct Writer {
    pub text: String,
    pub profile: Profile,
    /// Whether there is a barrier around everything.
    pub barriers: bool,
    next: usize,
}

impl Writer {
    pub fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    pub fn block(&mut self) -> String {
        self.next += 1;
        format!("^bb{}", self.next)
    }

    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    pub fn def(&mut self, right: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {right}"));
        name
    }

    /// A static number that is unlike that of other statements.
    pub fn number(&self) -> usize {
        self.next
    }

    pub fn token(&self) -> &'static str {
        token(self.profile)
    }

    pub fn barrier(&mut self) {
        if self.barriers {
            self.line("gpu.barrier");
        }
    }

    pub fn wait_for(&mut self, tokens: &[String]) {
        if self.profile.nvgpu {
            for token in tokens {
                let explicit = self.profile.explicit && self.number().is_multiple_of(3);
                let count = if explicit { " {numGroups = 0 : i32}" } else { "" };
                self.line(&format!("nvgpu.device_async_wait {token}{count}"));
            }
        } else {
            self.line(&format!("async.await {}", tokens.join(", ")));
        }
        self.barrier();
    }

    pub fn body(&mut self, stmts: &[Stmt], scope: &mut Scope) {
        for stmt in stmts {
            self.stmt(stmt, scope);
        }
    }

    /// The types of what is handed on.
    pub fn types(&self, carry: Carry, scope: &Scope) -> Vec<&'static str> {
        let mut types = Vec::new();
        for slot in 0..SLOTS {
            if carry.slots[slot] {
                types.push(self.token());
            }
            if carry.slots[slot] && scope.movable[slot] {
                types.push("index");
            }
        }
        if carry.rows {
            types.extend([self.token(); ROWS]);
        }
        if carry.flags {
            types.extend(["i1"; FLAGS]);
            types.push("index");
        }
        types
    }

    /// A scope inside of a region that is handed values on; returns it and the names of these.
    pub fn inside(&mut self, carry: Carry, outer: &Scope) -> (Scope, Vec<String>) {
        let mut inner = outer.clone();
        let mut names = Vec::new();
        for (slot, (token, place)) in inner.slots.iter_mut().enumerate() {
            inner.movable[slot] &= carry.slots[slot];
            let mut fresh = |value: &mut String| {
                *value = self.name();
                names.push(value.clone());
            };
            if carry.slots[slot] {
                fresh(token);
            }
            if inner.movable[slot] {
                fresh(place);
            }
        }
        let rows = inner.rows.iter_mut().filter(|_| carry.rows);
        let numbers = inner.flags.iter_mut().chain([&mut inner.count]);
        for value in rows.chain(numbers.filter(|_| carry.flags)) {
            *value = self.name();
            names.push(value.clone());
        }
        (inner, names)
    }

    /// What a scope hands on, as a region in `outer` does.
    pub fn values(carry: Carry, scope: &Scope, outer: &Scope) -> Vec<String> {
        let mut values = Vec::new();
        for (slot, (token, place)) in scope.slots.iter().enumerate() {
            if carry.slots[slot] {
                values.push(token.clone());
            }
            if carry.slots[slot] && outer.movable[slot] {
                values.push(place.clone());
            }
        }
        if carry.rows {
            values.extend_from_slice(&scope.rows);
        }
        if carry.flags {
            values.extend_from_slice(&scope.flags);
            values.push(scope.count.clone());
        }
        values
    }

    /// Awaits what a region has begun and does not hand on; returns what it hands on.
    pub fn close(&mut self, carry: Carry, scope: &Scope, outer: &Scope) -> Vec<String> {
        let slots = scope.slots.iter().zip(&outer.slots).enumerate();
        let slots = slots.filter(|(slot, (inner, outer))| !carry.slots[*slot] && inner.0 != outer.0);
        let mut left: Vec<String> = slots.map(|(_, (inner, _))| inner.0.clone()).collect();
        let rows = scope.rows.iter().zip(&outer.rows);
        let rows = rows.filter(|(inner, outer)| !carry.rows && inner != outer);
        left.extend(rows.map(|(inner, _)| inner.clone()));
        if !left.is_empty() {
            self.wait_for(&left);
        }
        Self::values(carry, scope, outer)
    }

    /// The scope after an operation whose results are what is handed on.
    pub fn after(&mut self, carry: Carry, outer: &Scope) -> (Scope, Vec<String>) {
        let (mut scope, names) = self.inside(carry, outer);
        scope.movable = outer.movable;
        (scope, names)
    }

    /// `%a, %b = `, or nothing.
    pub fn results(names: &[String]) -> String {
        if names.is_empty() {
            String::new()
        } else {
            format!("{} = ", names.join(", "))
        }
    }

    /// ` -> (types)`, or nothing.
    pub fn arrow(types: &[&str]) -> String {
        if types.is_empty() {
            String::new()
        } else {
            format!(" -> ({})", types.join(", "))
        }
    }

    /// The end of a region or block: `scf.yield %a, %b : types`.
    pub fn leave(&mut self, what: &str, values: &[String], types: &[&str]) {
        if values.is_empty() {
            self.line(what);
        } else {
            self.line(&format!("{what} {} : {}", values.join(", "), types.join(", ")));
        }
    }
}

/// The type of tokens.
fn token(profile: Profile) -> &'static str {
    if profile.nvgpu {
        "!nvgpu.device.async.token"
    } else {
        "!async.token"
    }
}

const CONSTANTS: [u32; 10] = [0, 1, 2, 3, 4, 7, 8, 15, 16, 63];

/// Functions that write to a buffer and return it.
const MADE: &str = "memref.global @made : !made = uninitialized
func.func private @global(%t: index, %v: f32) -> !made {
%made = memref.get_global @made : !made
memref.store %v, %made[%t] : !made
return %made : !made
}
func.func private @new(%t: index, %v: f32) -> !made {
%made = memref.alloc() : !made
memref.store %v, %made[%t] : !made
return %made : !made
}
";

/// What kernels begin with: their arguments and what all statements use.
fn head(profile: Profile) -> String {
    let token = token(profile);
    let bits = if profile.uniform {
        "%bits = arith.addi %chosen, %chosen : i64"
    } else {
        "%bits = memref.load %drawn[%t] : memref<8xi64>"
    };
    // Where threads read what others have copied, it matters which views are of the same memory.
    let (slots, view, made) = if profile.lanes {
        let view = "%slots = memref.view %bytes[%c0][] : !bytes to !slots\n";
        ("%bytes: !bytes", view, MADE)
    } else {
        ("%slots: !slots", "", "")
    };
    let constants = CONSTANTS.map(|c| format!("%c{c} = arith.constant {c} : index\n"));
    format!(
        "!src = memref<16x8xf32>
!out = memref<5x8xf32>
!rows = memref<2x8xf32>
!slots = memref<4x8xf32, #gpu.address_space<workgroup>>
!flat = memref<32xf32, #gpu.address_space<workgroup>>
!bytes = memref<128xi8, #gpu.address_space<workgroup>>
!first = memref<8xf32, #gpu.address_space<workgroup>>
!made = memref<8xf32, #gpu.address_space<workgroup>>
!line = memref<8xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!extra = memref<64x8xf32, #gpu.address_space<workgroup>>
gpu.module @m {{
func.func private @write(%out: !out, %t: index, %v: f32) {{
%c4 = arith.constant 4 : index
memref.store %v, %out[%c4, %t] : !out
return
}}
{made}func.func private @hold(%token: {token}) {{
return
}}
gpu.func @k(%src: !src, %drawn: memref<8xi64>, %chosen: i64, %out: !out, %rows: !rows) workgroup({slots}, %extra: !extra) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
{}{view}%true = arith.constant true
%false = arith.constant false
%zero = arith.constant 0.0 : f32
%one = arith.constant 1.0 : f32
%t = gpu.thread_id x
%t1 = arith.addi %t, %c1 : index
%next = arith.andi %t1, %c7 : index
%mirrored = arith.subi %c7, %t : index
{bits}
",
        constants.concat()
    )
}

pub(super) fn kernel(kernel: &Kernel, barriers: bool) -> String {
    let mut writer = Writer {
        text: head(kernel.profile),
        profile: kernel.profile,
        barriers,
        next: 0,
    };
    for row in 0..5 {
        writer.line(&format!("memref.store %zero, %out[%c{row}, %t] : !out"));
    }
    // What slots hold before they are filled is defined.
    let slots = std::array::from_fn(|slot| {
        if kernel.profile.nvgpu {
            let copy = writer.def(&format!(
                "nvgpu.device_async_copy %src[%c{slot}, %t], %slots[%c{slot}, %t], 1 : !src to !slots"
            ));
            let group = writer.def(&format!("nvgpu.device_async_create_group {copy}"));
            return (group, format!("%c{slot}"));
        }
        writer.line(&format!("memref.store %zero, %slots[%c{slot}, %t] : !slots"));
        ("%ready".to_owned(), format!("%c{slot}"))
    });
    if !kernel.profile.nvgpu {
        writer.line("%ready = async.ready");
    }
    let mut scope = Scope {
        slots,
        rows: std::array::from_fn(|_| "%ready".to_owned()),
        flags: ["%true".to_owned(), "%false".to_owned()],
        count: "%c2".to_owned(),
        movable: [true; SLOTS],
        clock: "%c0".to_owned(),
        iteration: "%c0".to_owned(),
        old: Vec::new(),
        in_blocks: true,
    };
    writer.body(&kernel.stmts, &mut scope);
    writer.line("gpu.return\n}\n}");
    writer.text
}
