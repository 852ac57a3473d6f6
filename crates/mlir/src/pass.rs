//! Passes in safe Rust.
//!
//! A pass implements [`Pass`] and is registered once with [`register_pass`]; it is then in MLIR's global registry like
//! any C++ pass. It has no state: what it may read is its operation and its options, so MLIR may run it on many
//! operations in parallel, and there is nothing to clone or to free.
//!
//! The adapter between the two worlds is in this file, once for all passes: it alone turns an error into a diagnostic
//! and a failed pass, and a panic into a diagnostic that admits a bug of ours.

pub use crate::options::{OptionInfo, OptionValue, Options};
use crate::{
    diagnostic::{Diagnostic, Place},
    ffi,
    ir::{Op, erased::Keep},
    options,
};
use mlir_sys::{
    MlirDialectHandle, MlirOperation, mlirGetDialectHandle__arith__, mlirGetDialectHandle__cf__,
    mlirGetDialectHandle__func__, mlirGetDialectHandle__gpu__, mlirGetDialectHandle__llvm__,
    mlirGetDialectHandle__memref__, mlirGetDialectHandle__nvgpu__, mlirGetDialectHandle__nvvm__,
    mlirGetDialectHandle__scf__, mlirGetDialectHandle__ub__, mlirGetDialectHandle__vector__,
};
use std::{
    any::Any,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A pass.
pub trait Pass: 'static {
    /// What the pass is called, does and takes.
    const INFO: PassInfo;

    /// Runs the pass on `op`.
    ///
    /// # Errors
    ///
    /// If the pass fails: the IR may then be in any state that MLIR can print and destroy.
    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>>;
}

/// What a pass is called, does and takes. Registration, `--help` and the generated documentation read this.
#[derive(Clone, Copy, Debug)]
pub struct PassInfo {
    /// The flag, without dashes; also the name in textual pipelines.
    pub flag: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// A description in Markdown for the documentation.
    pub description: &'static str,
    /// What the pass runs on.
    pub anchor: Anchor,
    /// The options.
    pub options: &'static [OptionInfo],
    /// The dialects whose operations the pass may make. (One whose operations are in the input is loaded already.)
    pub dependent_dialects: &'static [Dialect],
    /// The statistics that `--mlir-pass-statistics` shows.
    pub statistics: &'static [StatisticInfo],
}

impl PassInfo {
    /// A pass on any operation, without options; the start of an `INFO`, as in
    /// `PassInfo { options: &[…], ..PassInfo::new("flag", "summary") }`.
    #[must_use]
    pub const fn new(flag: &'static str, summary: &'static str) -> Self {
        Self {
            flag,
            summary,
            description: "",
            anchor: Anchor::Any,
            options: &[],
            dependent_dialects: &[],
            statistics: &[],
        }
    }
}

/// What a pass runs on.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Any operation.
    Any,
    /// Functions of any dialect. Scheduled on something else (`--flag` on a module), the pass runs on each outermost
    /// function inside, in parallel.
    Functions,
    /// Operations of these names.
    Ops(&'static [&'static str]),
}

/// A dialect that a pass can depend on.
#[derive(Clone, Copy, Debug)]
pub struct Dialect(unsafe extern "C" fn() -> MlirDialectHandle);

#[allow(missing_docs)] // Each is called what it is called in MLIR.
impl Dialect {
    pub const ARITH: Self = Self(mlirGetDialectHandle__arith__);
    pub const CF: Self = Self(mlirGetDialectHandle__cf__);
    pub const FUNC: Self = Self(mlirGetDialectHandle__func__);
    pub const GPU: Self = Self(mlirGetDialectHandle__gpu__);
    pub const LLVM: Self = Self(mlirGetDialectHandle__llvm__);
    pub const MEMREF: Self = Self(mlirGetDialectHandle__memref__);
    pub const NVGPU: Self = Self(mlirGetDialectHandle__nvgpu__);
    pub const NVVM: Self = Self(mlirGetDialectHandle__nvvm__);
    pub const SCF: Self = Self(mlirGetDialectHandle__scf__);
    pub const UB: Self = Self(mlirGetDialectHandle__ub__);
    pub const VECTOR: Self = Self(mlirGetDialectHandle__vector__);

    /// The dialect that `handle` returns the handle of, as MLIR's C API has a function for each dialect.
    ///
    /// # Safety
    ///
    /// `handle` must have no preconditions, and return a handle that is valid as long as the process lives.
    #[must_use]
    pub const unsafe fn new(handle: unsafe extern "C" fn() -> MlirDialectHandle) -> Self {
        Self(handle)
    }
}

/// A statistic of a pass.
#[derive(Clone, Copy, Debug)]
pub struct StatisticInfo {
    /// The name.
    pub name: &'static str,
    /// One line that says what it counts.
    pub description: &'static str,
}

/// The timer of the checks that a running pass makes of what it writes: `--mlir-timing` shows their time below that of the pass, as
/// `(A) Check`, the way it shows analyses. It does not where functions of a module are on threads of their own. The default shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckTimer<'c> {
    pass: Option<ffi::AsyncOptPass>,
    context: PhantomData<&'c ()>,
}

impl CheckTimer<'_> {
    /// Calls `check` while the timer runs.
    pub fn time<T>(self, check: impl FnOnce() -> T) -> T {
        self.switch(true);
        let checked = check();
        self.switch(false);
        checked
    }

    /// Calls `other`, which is called in a check and is no part of it, while the timer stands.
    pub fn pause<T>(self, other: impl FnOnce() -> T) -> T {
        self.switch(false);
        let done = other();
        self.switch(true);
        done
    }

    fn switch(self, on: bool) {
        if let Some(pass) = self.pass {
            // SAFETY: the pass runs.
            unsafe { ffi::asyncOptPassTimeCheck(pass, on) }
        }
    }
}

/// Gives a running pass its options and statistics.
pub struct PassContext<'c> {
    raw: ffi::AsyncOptPass,
    info: &'static PassInfo,
    context: PhantomData<&'c ()>,
}

impl<'c> PassContext<'c> {
    /// The timer of the checks of this pass.
    #[must_use]
    pub fn check_timer(&self) -> CheckTimer<'c> {
        CheckTimer {
            pass: Some(self.raw),
            context: PhantomData,
        }
    }

    /// The value of the boolean option `name`.
    ///
    /// # Panics
    ///
    /// If the pass has no such option; likewise for the other types, and for statistics.
    #[must_use]
    pub fn bool(&self, name: &str) -> bool {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::Bool(_))
        });
        // SAFETY: the pass runs, and has a boolean option at this index.
        unsafe { ffi::asyncOptPassGetBool(self.raw, index) }
    }

    /// The value of the integer option `name`.
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::Int(_))
        });
        // SAFETY: the pass runs, and has an integer option at this index.
        unsafe { ffi::asyncOptPassGetInt(self.raw, index) }
    }

    /// The value of the string option `name`.
    #[must_use]
    pub fn str(&self, name: &str) -> &str {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::String(_) | OptionValue::Choice { .. })
        });
        // SAFETY: the pass runs, has a string option at this index, and keeps its value while it runs.
        unsafe { ffi::str_from_raw(ffi::asyncOptPassGetString(self.raw, index)) }
    }

    /// Adds to the statistic `name`.
    pub fn count(&self, name: &str, delta: u64) {
        let index = self
            .info
            .statistics
            .iter()
            .position(|statistic| statistic.name == name)
            .unwrap_or_else(|| panic!("no statistic `{name}` is declared"));
        // SAFETY: the pass runs, and has a statistic at this index.
        unsafe { ffi::asyncOptPassAddStatistic(self.raw, index.cast_signed(), delta) }
    }
}

impl Options for PassContext<'_> {
    fn bool(&self, name: &str) -> bool {
        self.bool(name)
    }

    fn int(&self, name: &str) -> i64 {
        self.int(name)
    }

    fn str(&self, name: &str) -> &str {
        self.str(name)
    }
}

/// Returns true if a pass that runs on `op` may start threads: multithreading is enabled in the context, as it is without
/// `--mlir-disable-threading`.
#[must_use]
pub fn may_use_threads(op: Op<'_>) -> bool {
    // SAFETY: the context of a live operation.
    unsafe { ffi::asyncOptMayUseThreads(mlir_sys::mlirOperationGetContext(op.to_raw())) }
}

/// Why a pass failed: the one diagnostic that the user gets.
#[derive(Debug)]
pub struct PassError<'c>(Option<Diagnostic<'c>>);

impl<'c> PassError<'c> {
    /// A fault in the user's IR, at an operation or a location.
    pub fn new(place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        Self(Some(Diagnostic::error(place, message)))
    }

    /// Attaches a note.
    #[must_use]
    pub fn note(self, place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        Self(self.0.map(|diagnostic| diagnostic.note(place, message)))
    }

    /// The diagnostic, for a pass that does not fail after all; `None` if it is emitted already.
    #[must_use]
    pub fn into_diagnostic(self) -> Option<Diagnostic<'c>> {
        self.0
    }

    /// Fails the pass without another diagnostic: the errors are emitted already.
    #[must_use]
    pub fn already_emitted() -> Self {
        Self(None)
    }
}

/// Adds the pass to MLIR's global registry; does nothing if it is there already.
///
/// MLIR's registry is not made for several writers: register everything from one thread, before passes run.
pub fn register_pass<P: Pass>() {
    let info = &P::INFO;
    let (anchor, names): (_, &[_]) = match info.anchor {
        Anchor::Any => (ffi::AsyncOptAnchorAny, &[]),
        Anchor::Functions => (ffi::AsyncOptAnchorFunctions, &[]),
        Anchor::Ops(names) => (ffi::AsyncOptAnchorNames, names),
    };
    let names: Vec<_> = names.iter().map(|name| ffi::string_ref(name)).collect();
    let statistics: Vec<_> = info
        .statistics
        .iter()
        .map(|statistic| ffi::AsyncOptStatistic {
            name: ffi::string_ref(statistic.name),
            description: ffi::string_ref(statistic.description),
        })
        .collect();
    let dialects: Vec<_> = info
        .dependent_dialects
        .iter()
        // SAFETY: functions without preconditions, as whoever made a `Dialect` of one vouched.
        .map(|dialect| unsafe { dialect.0() })
        .collect();
    options::with_ffi(info.options, |options| {
        let raw = ffi::AsyncOptPassInfo {
            argument: ffi::string_ref(info.flag),
            description: ffi::string_ref(info.summary),
            anchor,
            anchorNames: names.as_ptr(),
            numAnchorNames: names.len().cast_signed(),
            options: options.as_ptr(),
            numOptions: options.len().cast_signed(),
            statistics: statistics.as_ptr(),
            numStatistics: statistics.len().cast_signed(),
            dependentDialects: dialects.as_ptr(),
            numDependentDialects: dialects.len().cast_signed(),
            run: Some(run_pass::<P>),
        };
        // SAFETY: the arrays live during the call, which copies them.
        unsafe { ffi::asyncOptRegisterPass(&raw const raw) }
    });
}

/// What C++ calls to run `P`. Returns false if the pass failed.
extern "C" fn run_pass<P: Pass>(pass: ffi::AsyncOptPass, op: MlirOperation) -> bool {
    // SAFETY: MLIR hands over a live operation. Its context outlives this call, and `run` is generic in the lifetime,
    // so no handle can leave it.
    let op = unsafe { Op::from_raw(op) };
    let context = PassContext {
        raw: pass,
        info: &P::INFO,
        context: PhantomData,
    };
    // SAFETY: the pass runs, has a string option at this index, and keeps its value while it runs.
    let value = |index| unsafe { ffi::str_from_raw(ffi::asyncOptPassGetString(pass, index)) };
    if let Err(message) = options::check_choices(P::INFO.options, value) {
        Diagnostic::error(op.location(), message).emit();
        return false;
    }
    run_on(&format!("pass '{}'", P::INFO.flag), op, |op| P::run(op, &context))
}

/// Runs `work`, which is called `name`, on `op` as if it were a pass: emits its error, or a diagnostic of its panic. Returns false
/// if there was one.
pub fn run_on<'c>(name: &str, op: Op<'c>, work: impl FnOnce(Op<'c>) -> Result<(), PassError<'c>>) -> bool {
    let location = op.location();
    // Unwind safety: after a panic the pass has failed, and nobody reads what it was doing but to print or destroy it.
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _kept = Keep::new();
        let result = work(op);
        // An error has a place, too, that the pass must not have erased.
        result.map_err(|PassError(diagnostic)| diagnostic.map(Diagnostic::emit))
    }));
    match result {
        Ok(result) => result.is_ok(),
        Err(panic) => {
            let message = format!(
                "internal error in {name}: {} (this is a bug in async-opt)",
                panic_message(&*panic)
            );
            request_reproducer();
            // At the location alone: printing an operation that is half rewritten may well fail again.
            Diagnostic::error(location, message).emit();
            false
        }
    }
}

/// Has `async-opt` write its input and options to a file when it has failed, since the fault is its own.
pub fn request_reproducer() {
    // SAFETY: a function without preconditions.
    unsafe { ffi::asyncOptRequestReproducer() }
}

/// The text that a panic carries.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message")
}
