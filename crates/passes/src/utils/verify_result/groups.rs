//! Checks groups: that every operation of a queue is complete where it is awaited.

use super::advise;
use crate::utils::certificates;
use async_dialects::names::async_;
use async_dialects::types::token;
use async_mlir::diagnostic::{Diagnostic, Place};
use async_mlir::ir::{Op, Text};
use async_mlir::melior::ir::Location;
use async_mlir::nvgpu::copy_token;
use async_mlir::pass::{CheckTimer, PassError, may_use_threads};
use async_verify::certificates::{Record, path_of};
use async_verify::groups::code::{Expected, Fifo};
use async_verify::groups::read::{Reading, Vocabulary, WaitRole, read};
use async_verify::groups::{
    self, Certificate, Code, Refusal, check, check_and_find_superfluous, infer, nvgpu_waits,
};
use std::panic::resume_unwind;
use std::thread;

/// So many waits are tried with a larger number.
const TRIALS: usize = 16;

/// Less code than this is checked sooner than a thread starts.
const MANY_INSTRS: usize = 4096;

/// What is known where a block begins takes as long to find as so many instructions.
const INSTRS_OF_BLOCK: usize = 4;

/// The check of a function's groups.
pub(crate) struct AwaitCheck<'a, 'c> {
    /// The function, which has its tokens and awaits still.
    pub function: Op<'c>,
    /// Waits that get a remark if they could leave one group more in flight.
    pub waits: &'a [Op<'c>],
    /// About how much code it is.
    pub expected: Expected,
    /// The flag of the pass that has written the function.
    pub pass: &'a str,
    /// The file for the certificate; empty if nobody wants it.
    pub file: &'a str,
}

impl<'c> AwaitCheck<'_, 'c> {
    /// Checks that every operation of a queue is complete where it is awaited. Runs `erase`, which may take away tokens and awaits, when all is
    /// read: while the check goes on, where that takes long. `timer` stands meanwhile.
    ///
    /// # Errors
    ///
    /// An await that is reached while an operation may be in flight.
    pub fn run(&self, timer: CheckTimer<'c>, erase: impl FnOnce()) -> Result<(), PassError<'c>> {
        timer.time(|| self.check(|| timer.pause(erase)))
    }

    fn check(&self, erase: impl FnOnce()) -> Result<(), PassError<'c>> {
        let vocabulary = Vocabulary {
            token: token(self.function.context()),
            role: &|_| WaitRole::Wait,
            expected: self.expected,
        };
        let mut reading = read(self.function, vocabulary);
        if self.file.is_empty() {
            reading.forget_values();
        }
        let superfluous = if self.is_long(&reading.code) {
            self.judge_meanwhile(&reading, erase)?
        } else {
            let superfluous = self.judge_first(&reading)?;
            erase();
            superfluous
        };
        for place in superfluous {
            if let Some(op) = reading.wait_at(place).filter(|op| self.waits.contains(op)) {
                let message = "waits for more than its await needs: with one group more in flight, the awaited operations would still be complete";
                Diagnostic::remark(op.location(), message).emit();
            }
        }
        Ok(())
    }

    /// Returns true if a thread may judge `code`, and it is worth one.
    fn is_long(&self, code: &Code) -> bool {
        // Loops of constant trip count are judged by recursion, for which the stack of a thread may be too small.
        let is_flat = code.trips.is_empty();
        let instrs = code.instrs.len() + INSTRS_OF_BLOCK * code.blocks.len();
        is_flat && instrs >= MANY_INSTRS && self.file.is_empty() && may_use_threads(self.function)
    }

    /// Judges, then writes the certificate; returns the places of superfluous waits.
    fn judge_first(&self, reading: &Reading<'c>) -> Result<Vec<usize>, PassError<'c>> {
        let judged = Judged::of(&reading.code, self.limits(reading).as_deref());
        let (certificate, superfluous) = judged.accepted(self.function, reading)?;
        if !self.file.is_empty() && !reading.code.instrs.is_empty() {
            let text = Text::new(self.function);
            let path = path_of(self.function);
            let record = groups::Record::new(self.pass, path, reading, &certificate, &text);
            certificates::write(self.file, &Record::Groups(record), self.function)?;
        }
        Ok(superfluous)
    }

    /// Judges on a thread while `erase` runs; returns the places of superfluous waits.
    fn judge_meanwhile(
        &self,
        reading: &Reading<'c>,
        erase: impl FnOnce(),
    ) -> Result<Vec<usize>, PassError<'c>> {
        // Their operations go.
        let locations: Vec<Location> = reading.awaits().map(Op::location).collect();
        let (code, limits) = (&reading.code, self.limits(reading));
        let Judged {
            certificate,
            superfluous,
        } = thread::scope(|scope| {
            let judged = scope.spawn(|| Judged::of(code, limits.as_deref()));
            erase();
            judged.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        superfluous.map_err(|refusal| {
            let refused = reading.refused_await(&certificate, &refusal);
            let mut awaits = reading.awaits().zip(&locations);
            let place = awaits.find(|(op, _)| Some(*op) == refused);
            error(
                self.function,
                place.map(|(_, location)| Place::from(*location)),
                &refusal,
            )
        })
    }

    /// How far FIFOs can count, if waits are to be looked at.
    fn limits(&self, reading: &Reading<'c>) -> Option<Vec<(Fifo, u32)>> {
        let fifos = reading.fifos();
        let limits = fifos.map(|(fifo, queue, _)| (fifo, u32::from(queue.max_pending())));
        (!self.waits.is_empty()).then(|| limits.collect())
    }
}

/// What the check has found.
struct Judged {
    certificate: Certificate,
    /// The places of waits that could leave one group more in flight, or why the code is refused.
    superfluous: Result<Vec<usize>, Refusal>,
}

impl Judged {
    /// Judges `code`; looks at waits if there are `limits` of FIFOs.
    fn of(code: &Code, limits: Option<&[(Fifo, u32)]>) -> Self {
        let certificate = infer(code);
        let superfluous = match limits {
            _ if code.blocks.is_empty() => Ok(Vec::new()),
            None => check(code, &certificate).map(|()| Vec::new()),
            Some(limits) => {
                let limit = |fifo| limits.iter().find(|(known, _)| *known == fifo);
                let limit = |fifo| limit(fifo).map_or(0, |(_, limit)| *limit);
                check_and_find_superfluous(code, &certificate, limit, TRIALS)
            }
        };
        Self {
            certificate,
            superfluous,
        }
    }

    /// The certificate, and the places of superfluous waits; or the error at the await that is refused, which still stands in `function`.
    fn accepted<'c>(
        self,
        function: Op<'c>,
        reading: &Reading<'c>,
    ) -> Result<(Certificate, Vec<usize>), PassError<'c>> {
        let superfluous = self.superfluous.map_err(|refusal| {
            let refused = reading.refused_await(&self.certificate, &refusal);
            error(function, refused.map(Place::from), &refusal)
        })?;
        Ok((self.certificate, superfluous))
    }
}

/// The error for a function that is refused, at the await `refused`, if it is for one.
fn error<'c>(function: Op<'c>, refused: Option<Place<'c>>, refusal: &Refusal) -> PassError<'c> {
    let (place, message) = match refused {
        Some(place) => {
            // An operation that is gone has no name.
            let subject = match place {
                Place::Op(_) => String::new(),
                Place::Location(_) => format!("'{}' op ", async_::AWAIT),
            };
            let message =
                "is reached while what it awaits may be in flight, says the check of what was written";
            (place, subject + message)
        }
        None => {
            let message = format!("the check of what was written failed: {refusal}");
            (function.location().into(), message)
        }
    };
    advise(PassError::new(place, message), place)
}

/// Checks that every operation of `nvgpu`'s groups is complete where it is awaited, in a function whose waits are what `role` says. Writes the
/// certificate, of `pass`, to `file`, if that is not empty.
pub(crate) fn check_nvgpu_waits<'c>(
    function: Op<'c>,
    role: &dyn Fn(Op<'c>) -> WaitRole,
    pass: &str,
    file: &str,
) -> Result<(), PassError<'c>> {
    let vocabulary = Vocabulary {
        token: copy_token(function.context()),
        role,
        expected: Expected::default(),
    };
    let reading = read(function, vocabulary);
    let (certificate, _) = Judged::of(&reading.code, None).accepted(function, &reading)?;
    if file.is_empty() || reading.code.instrs.is_empty() {
        return Ok(());
    }
    let waits = nvgpu_waits(function);
    if let Some(wait) = waits.iter().find(|wait| role(**wait) == WaitRole::Wait) {
        let message = "gets no certificate: it has a wait of which nothing is claimed";
        let remark = Diagnostic::remark(function.location(), message);
        remark.note(wait.location(), "this one").emit();
        return Ok(());
    }
    let text = Text::new(function);
    let mut record = groups::Record::new(pass, path_of(function), &reading, &certificate, &text);
    let numbered = (0..).zip(&waits);
    let implied = numbered.filter(|(_, wait)| role(**wait) == WaitRole::Await);
    record.implied = implied.map(|(number, _)| number).collect();
    certificates::write(file, &Record::Groups(record), function)
}

#[cfg(test)]
mod tests {
    use super::{AwaitCheck, Expected, MANY_INSTRS};
    use async_dialects::names::async_;
    use async_dialects::registry::register_all_dialects;
    use async_mlir::ir::{Op, Walk};
    use async_mlir::melior::Context;
    use async_mlir::melior::dialect::DialectRegistry;
    use async_mlir::melior::ir::Module;
    use async_mlir::pass::{CheckTimer, PassError};
    use std::fmt::Write as _;
    use std::sync::mpsc::channel;

    /// The error for a function of so many copies, each of which is awaited after a wait, with this number for the last one; and whether awaits
    /// were erased.
    fn verdict(copies: usize, last_wait: u32) -> (Option<String>, bool) {
        let registry = DialectRegistry::new();
        register_all_dialects(&registry);
        let context = Context::new_with_registry(&registry, true);
        let arguments = "%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index";
        let mut text = format!("func.func @f({arguments}) {{\n");
        for n in 1..=copies {
            let pending = if n == copies { last_wait } else { 0 };
            let _ = writeln!(
                text,
                "%t{n} = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>\n\
                 gpux.commit_group <cp_async>\n\
                 gpux.wait_group <cp_async>, {pending}\n\
                 async.await %t{n}"
            );
        }
        let module = Module::parse(&context, &(text + "return\n}")).expect("it is valid");
        let (mut function, mut awaits) = (None, Vec::new());
        Op::from(module.as_operation()).walk(|op| {
            function = Some(op).filter(|op| op.is_function()).or(function);
            awaits.extend(Some(op).filter(|op| op.is(async_::AWAIT)));
            Walk::Advance
        });
        let check = AwaitCheck {
            function: function.expect("there is one"),
            waits: &[],
            expected: Expected::default(),
            pass: "",
            file: "",
        };
        let mut is_erased = false;
        let checked = check.run(CheckTimer::default(), || {
            is_erased = true;
            for op in &awaits {
                op.erase();
            }
        });
        let (sender, receiver) = channel();
        let handler = context.attach_diagnostic_handler(move |diagnostic| {
            let _ = sender.send(format!("{}: {diagnostic}", diagnostic.location()));
            true
        });
        if let Some(error) = checked.err().and_then(PassError::into_diagnostic) {
            error.emit();
        }
        context.detach_diagnostic_handler(handler);
        (receiver.try_recv().ok(), is_erased)
    }

    #[test]
    fn code_of_any_length_is_checked() {
        for copies in [1, 2 * MANY_INSTRS] {
            assert_eq!(verdict(copies, 0), (None, true), "{copies} copies");
        }
    }

    #[test]
    fn an_await_that_is_gone_is_told_by_its_place() {
        let (error, is_erased) = verdict(1, 1);
        assert!(error.is_some() && !is_erased, "short code is judged first");
        let copies = 2 * MANY_INSTRS;
        let (error, is_erased) = verdict(copies, 1);
        let error = error.expect("the last wait completes nothing");
        assert!(is_erased, "long code is judged meanwhile");
        assert!(error.contains("'async.await' op is reached"), "{error}");
        // Four lines for each copy come after the first line.
        assert!(error.contains(&format!(":{}:", 4 * copies + 1)), "{error}");
    }
}
