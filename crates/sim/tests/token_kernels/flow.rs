//! Statements with others in them.

use super::numbers::literal;
use super::stmt::{Bound, Carry, Condition, For, Stmt};
use super::write::{Scope, Writer};

impl Writer {
    pub(super) fn nest(&mut self, stmt: &Stmt, scope: &mut Scope) {
        let old = scope.old.clone();
        let (clock, iteration, in_blocks) = (scope.clock.clone(), scope.iteration.clone(), scope.in_blocks);
        let after = match stmt {
            Stmt::If(condition, carry, arms) => self.branch(*condition, *carry, arms, scope),
            Stmt::For(counted) => self.counted(counted, scope),
            Stmt::While(trips, carry, before, body) => self.conditional(*trips, *carry, *before, body, scope),
            Stmt::Switch(which, carry, arms) => self.switch(*which, *carry, arms, scope),
            Stmt::Region(carry, body) => {
                self.in_region(*carry, scope, |writer, inner| writer.body(body, inner))
            }
            Stmt::Branch(..) | Stmt::Blocks(..) if !in_blocks => {
                self.in_region(Carry::ALL, scope, |writer, inner| writer.stmt(stmt, inner))
            }
            Stmt::Branch(condition, carry, arms) => self.blocks(*condition, *carry, arms, scope),
            Stmt::Blocks(trips, stop, carry, parts) => self.block_loop(*trips, *stop, *carry, parts, scope),
            _ => unreachable!("it has no others in it"),
        };
        *scope = Scope {
            clock,
            iteration,
            old,
            in_blocks,
            ..after
        };
    }

    /// What is handed on, apart from what the kernel does not have.
    fn carried(&self, mut carry: Carry) -> Carry {
        carry.rows &= self.profile.stores;
        carry
    }

    /// The end of a region.
    fn close_region(&mut self, carry: Carry, inner: &Scope, outer: &Scope) {
        let values = self.close(carry, inner, outer);
        let types = self.types(carry, outer);
        self.leave("scf.yield", &values, &types);
    }

    fn arm(&mut self, carry: Carry, body: &[Stmt], outer: &Scope) {
        let mut inner = Scope {
            in_blocks: false,
            ..outer.clone()
        };
        for slot in 0..inner.movable.len() {
            inner.movable[slot] &= carry.slots[slot];
        }
        self.body(body, &mut inner);
        self.close_region(carry, &inner, outer);
    }

    fn branch(&mut self, condition: Condition, carry: Carry, arms: &[Vec<Stmt>], scope: &Scope) -> Scope {
        // Without another arm there are no results.
        let carry = if arms.len() > 1 {
            self.carried(carry)
        } else {
            Carry::default()
        };
        let condition = self.condition(condition, scope);
        let (after, names) = self.after(carry, scope);
        let types = self.types(carry, scope);
        let (results, arrow) = (Self::results(&names), Self::arrow(&types));
        self.line(&format!("{results}scf.if {condition}{arrow} {{"));
        self.arm(carry, &arms[0], scope);
        if let Some(other) = arms.get(1) {
            self.line("} else {");
            self.arm(carry, other, scope);
        }
        self.line("}");
        after
    }

    fn switch(&mut self, which: Bound, carry: Carry, arms: &[Vec<Stmt>], scope: &Scope) -> Scope {
        let carry = self.carried(carry);
        let which = self.bound(which, "index", scope);
        let which = self.def(&format!("arith.andi {which}, %c3 : index"));
        let (after, names) = self.after(carry, scope);
        let types = self.types(carry, scope);
        let arrow = if types.is_empty() {
            String::new()
        } else {
            format!(" -> {}", types.join(", "))
        };
        self.line(&format!(
            "{}scf.index_switch {which}{arrow}",
            Self::results(&names)
        ));
        for (case, arm) in arms.iter().enumerate() {
            let label = if case + 1 == arms.len() {
                "default".to_owned()
            } else {
                format!("case {case}")
            };
            self.line(&format!("{label} {{"));
            self.arm(carry, arm, scope);
            self.line("}");
        }
        after
    }

    fn in_region(&mut self, carry: Carry, scope: &Scope, body: impl FnOnce(&mut Self, &mut Scope)) -> Scope {
        let carry = self.carried(carry);
        let (after, names) = self.after(carry, scope);
        let types = self.types(carry, scope);
        let arrow = Self::arrow(&types);
        self.line(&format!("{}scf.execute_region{arrow} {{", Self::results(&names)));
        let mut inner = Scope {
            in_blocks: true,
            ..scope.clone()
        };
        for slot in 0..inner.movable.len() {
            inner.movable[slot] &= carry.slots[slot];
        }
        body(self, &mut inner);
        self.close_region(carry, &inner, scope);
        self.line("}");
        after
    }

    /// What all iterations of a loop know of which one they are.
    fn count(&mut self, iteration: &str, scope: &mut Scope) {
        let more = self.def(&format!("arith.muli {}, %c3 : index", scope.clock));
        scope.clock = self.def(&format!("arith.addi {more}, {iteration} : index"));
        iteration.clone_into(&mut scope.iteration);
    }

    /// The bounds of a loop and its step.
    fn range(&mut self, counted: &For, scope: &Scope) -> [String; 3] {
        let For {
            trips,
            ty,
            lower,
            step,
            triangular,
            ..
        } = counted;
        let first = i64::from(*lower);
        let by = self.def(&format!("arith.constant {step} : {ty}"));
        let begin = if *triangular && *ty == "index" {
            scope.iteration.clone()
        } else {
            self.def(&format!("arith.constant {lower} : {ty}"))
        };
        let known = |bound: Bound| matches!(bound, Bound::Counted | Bound::Iteration);
        let end = match *trips {
            Bound::Constant(trips) => {
                let end = first + i64::from(*step) * i64::from(trips);
                let end = literal(end.cast_unsigned(), ty);
                self.def(&format!("arith.constant {end} : {ty}"))
            }
            // Without arithmetic, it is known where the number is.
            trips if known(trips) => self.bound(trips, ty, scope),
            trips => {
                let trips = self.bound(trips, ty, scope);
                let length = self.def(&format!("arith.muli {trips}, {by} : {ty}"));
                self.def(&format!("arith.addi {begin}, {length} : {ty}"))
            }
        };
        [begin, end, by]
    }

    fn counted(&mut self, counted: &For, scope: &Scope) -> Scope {
        let carry = self.carried(counted.carry);
        let For { ty, first, .. } = counted;
        let [lower, upper, step] = self.range(counted, scope);
        let mut start = scope.clone();
        if *first {
            "%true".clone_into(&mut start.flags[0]);
            "%c3".clone_into(&mut start.count);
        }
        let (after, names) = self.after(carry, scope);
        let (mut inner, args) = self.inside(carry, scope);
        let types = self.types(carry, scope);
        let inits = args.iter().zip(Self::values(carry, &start, scope));
        let inits: Vec<String> = inits.map(|(arg, init)| format!("{arg} = {init}")).collect();
        let inits = if inits.is_empty() {
            String::new()
        } else {
            format!(" iter_args({}){}", inits.join(", "), Self::arrow(&types))
        };
        let i = self.name();
        let unsigned = if counted.unsigned { "unsigned " } else { "" };
        let typed = if *ty == "index" {
            String::new()
        } else {
            format!(" : {ty}")
        };
        self.line(&format!(
            "{}scf.for {unsigned}{i} = {lower} to {upper} step {step}{inits}{typed} {{",
            Self::results(&names)
        ));
        let iteration = if *ty == "index" {
            i
        } else {
            self.def(&format!("arith.index_cast {i} : {ty} to index"))
        };
        self.count(&iteration, &mut inner);
        inner.in_blocks = false;
        self.body(&counted.body, &mut inner);
        if *first {
            "%false".clone_into(&mut inner.flags[0]);
            "%c1".clone_into(&mut inner.count);
        }
        self.close_region(carry, &inner, scope);
        self.line("}");
        after
    }

    fn conditional(
        &mut self,
        trips: Bound,
        carry: Carry,
        before: bool,
        body: &[Stmt],
        scope: &Scope,
    ) -> Scope {
        let carry = self.carried(carry);
        let bound = self.bound(trips, "index", scope);
        let (after, mut names) = self.after(carry, scope);
        let (mut first, mut args) = self.inside(carry, scope);
        let (mut second, mut handed) = self.inside(carry, scope);
        let mut types = self.types(carry, scope);
        let (last, i, j) = (self.name(), self.name(), self.name());
        names.insert(0, last);
        args.insert(0, i.clone());
        handed.insert(0, j.clone());
        types.insert(0, "index");
        let mut inits = Self::values(carry, scope, scope);
        inits.insert(0, "%c0".to_owned());
        let inits: Vec<String> = args
            .iter()
            .zip(inits)
            .map(|(arg, init)| format!("{arg} = {init}"))
            .collect();
        let list = types.join(", ");
        self.line(&format!(
            "{}scf.while ({}) : ({list}) -> ({list}) {{",
            Self::results(&names),
            inits.join(", ")
        ));
        let goes_on = self.def(&format!("arith.cmpi ult, {i}, {bound} : index"));
        let mut end = self.in_loop(before.then_some(body), carry, &mut first, &i, scope);
        end.insert(0, i);
        self.leave(&format!("scf.condition({goes_on})"), &end, &types);
        self.line("} do {");
        let arguments: Vec<String> = handed
            .iter()
            .zip(&types)
            .map(|(arg, ty)| format!("{arg}: {ty}"))
            .collect();
        self.line(&format!("^bb0({}):", arguments.join(", ")));
        let mut end = self.in_loop((!before).then_some(body), carry, &mut second, &j, scope);
        let next = self.def(&format!("arith.addi {j}, %c1 : index"));
        end.insert(0, next);
        self.leave("scf.yield", &end, &types);
        self.line("}");
        after
    }

    /// One of the regions of a loop; returns what it hands on.
    fn in_loop(
        &mut self,
        body: Option<&[Stmt]>,
        carry: Carry,
        inner: &mut Scope,
        iteration: &str,
        outer: &Scope,
    ) -> Vec<String> {
        self.count(iteration, inner);
        inner.in_blocks = false;
        self.body(body.unwrap_or_default(), inner);
        self.close(carry, inner, outer)
    }

    /// `^bb(%a, %b : types)`, as branches name a block.
    fn target(block: &str, values: &[String], types: &[&str]) -> String {
        if values.is_empty() {
            block.to_owned()
        } else {
            format!("{block}({} : {})", values.join(", "), types.join(", "))
        }
    }

    /// The beginning of a block.
    fn label(&mut self, block: &str, args: &[String], types: &[&str]) {
        let args: Vec<String> = args
            .iter()
            .zip(types)
            .map(|(arg, ty)| format!("{arg}: {ty}"))
            .collect();
        if args.is_empty() {
            self.line(&format!("{block}:"));
        } else {
            self.line(&format!("{block}({}):", args.join(", ")));
        }
    }

    fn blocks(&mut self, condition: Condition, carry: Carry, arms: &[Vec<Stmt>], scope: &Scope) -> Scope {
        let carry = self.carried(carry);
        let condition = self.condition(condition, scope);
        let (then, other, join) = (self.block(), self.block(), self.block());
        let (after, names) = self.after(carry, scope);
        let types = self.types(carry, scope);
        self.line(&format!("cf.cond_br {condition}, {then}, {other}"));
        for (block, arm) in [then, other].iter().zip(arms) {
            self.label(block, &[], &[]);
            let mut inner = scope.clone();
            for slot in 0..inner.movable.len() {
                inner.movable[slot] &= carry.slots[slot];
            }
            self.body(arm, &mut inner);
            let values = self.close(carry, &inner, scope);
            self.line(&format!("cf.br {}", Self::target(&join, &values, &types)));
        }
        self.label(&join, &names, &types);
        after
    }

    fn block_loop(
        &mut self,
        trips: Bound,
        stop: Condition,
        carry: Carry,
        parts: &[Vec<Stmt>],
        scope: &Scope,
    ) -> Scope {
        let carry = self.carried(carry);
        let bound = self.bound(trips, "index", scope);
        let (head, first, second, exit) = (self.block(), self.block(), self.block(), self.block());
        let (after, names) = self.after(carry, scope);
        let (mut inner, mut args) = self.inside(carry, scope);
        let types = self.types(carry, scope);
        let counted = [&["index"], &types[..]].concat();
        let i = self.name();
        args.insert(0, i.clone());
        let mut inits = Self::values(carry, scope, scope);
        inits.insert(0, "%c0".to_owned());
        self.line(&format!("cf.br {}", Self::target(&head, &inits, &counted)));
        self.label(&head, &args, &counted);
        let goes_on = self.def(&format!("arith.cmpi ult, {i}, {bound} : index"));
        let leave = Self::target(&exit, &args[1..], &types);
        self.line(&format!("cf.cond_br {goes_on}, {first}, {leave}"));
        self.label(&first, &[], &[]);
        self.count(&i, &mut inner);
        self.body(&parts[0], &mut inner);
        let stops = self.condition(stop, &inner);
        let values = self.close(carry, &inner, scope);
        let leave = Self::target(&exit, &values, &types);
        self.line(&format!("cf.cond_br {stops}, {leave}, {second}"));
        self.label(&second, &[], &[]);
        self.body(&parts[1], &mut inner);
        let mut values = self.close(carry, &inner, scope);
        let next = self.def(&format!("arith.addi {i}, %c1 : index"));
        values.insert(0, next);
        self.line(&format!("cf.br {}", Self::target(&head, &values, &counted)));
        self.label(&exit, &names, &types);
        after
    }
}
