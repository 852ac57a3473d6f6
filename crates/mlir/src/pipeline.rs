//! Pass pipelines, written as a list.

pub use crate::options::{OptionInfo, OptionValue};
use crate::{ffi, options, pass::panic_message};
use std::{
    ffi::c_void,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A pipeline: a flag that stands for a list of passes.
pub trait Pipeline: 'static {
    /// What the pipeline is called, does and takes.
    const INFO: PipelineInfo;

    /// The passes that the options ask for.
    ///
    /// # Errors
    ///
    /// A message for the user, if the options make no sense.
    fn passes(options: &PipelineOptions) -> Result<PassList, String>;
}

/// What a pipeline is called, does and takes.
#[derive(Clone, Copy, Debug)]
pub struct PipelineInfo {
    /// The flag, without dashes; also the name in textual pipelines.
    pub flag: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// A description in Markdown for the documentation.
    pub description: &'static str,
    /// The options.
    pub options: &'static [OptionInfo],
}

/// The option values that a pipeline was given.
pub struct PipelineOptions {
    raw: ffi::AsyncOptPipelineOptions,
    info: &'static PipelineInfo,
}

impl PipelineOptions {
    /// The value of the boolean option `name`.
    ///
    /// # Panics
    ///
    /// If the pipeline has no such option; likewise for the other types.
    #[must_use]
    pub fn bool(&self, name: &str) -> bool {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::Bool(_))
        });
        // SAFETY: the options live, and there is a boolean at this index.
        unsafe { ffi::asyncOptPipelineGetBool(self.raw, index) }
    }

    /// The value of the integer option `name`.
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::Int(_))
        });
        // SAFETY: the options live, and there is an integer at this index.
        unsafe { ffi::asyncOptPipelineGetInt(self.raw, index) }
    }

    /// The value of the string option `name`.
    #[must_use]
    pub fn str(&self, name: &str) -> &str {
        let index = options::find(self.info.options, name, |value| {
            matches!(value, OptionValue::String(_) | OptionValue::Choice { .. })
        });
        // SAFETY: the options live, and there is a string at this index.
        unsafe { ffi::str_from_raw(ffi::asyncOptPipelineGetString(self.raw, index)) }
    }
}

/// A list of passes in order.
///
/// ```
/// # use async_mlir::pipeline::PassList;
/// let passes = PassList::new()
///     // Nothing below knows affine maps.
///     .pass("lower-affine")
///     .nest("gpu.module", PassList::new().pass_with("convert-gpu-to-nvvm", &[("index-bitwidth", "32")]));
/// assert_eq!(passes.to_string(), "lower-affine,gpu.module(convert-gpu-to-nvvm{index-bitwidth=32})");
/// ```
#[derive(Clone, Debug, Default)]
pub struct PassList(Vec<String>);

impl PassList {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a pass.
    #[must_use]
    pub fn pass(mut self, flag: &str) -> Self {
        self.0.push(flag.to_owned());
        self
    }

    /// Appends a pass with options. A value with spaces or braces in it must come in braces itself.
    #[must_use]
    pub fn pass_with(mut self, flag: &str, options: &[(&str, &str)]) -> Self {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        self.0.push(format!("{flag}{{{}}}", options.join(" ")));
        self
    }

    /// Appends passes that run on the operations `anchor` (or `any`) directly inside.
    #[must_use]
    pub fn nest(mut self, anchor: &str, passes: PassList) -> Self {
        self.0.push(format!("{anchor}({passes})"));
        self
    }
}

impl fmt::Display for PassList {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

/// Adds the pipeline to MLIR's global registry; does nothing if it is there already.
///
/// As with passes, register everything from one thread, before passes run. Passes are looked up when the pipeline is
/// used, so they may be registered later.
pub fn register_pipeline<P: Pipeline>() {
    let info = &P::INFO;
    options::with_ffi(info.options, |options| {
        let raw = ffi::AsyncOptPipelineInfo {
            argument: ffi::string_ref(info.flag),
            description: ffi::string_ref(info.summary),
            options: options.as_ptr(),
            numOptions: options.len().cast_signed(),
            build: Some(build_pipeline::<P>),
            userData: std::ptr::null(),
        };
        // SAFETY: the array lives during the call, which copies it.
        unsafe { ffi::asyncOptRegisterPipeline(&raw const raw) }
    });
}

/// What C++ calls to get the text of `P`, or an error message (and false).
extern "C" fn build_pipeline<P: Pipeline>(
    options: ffi::AsyncOptPipelineOptions,
    _user_data: *const c_void,
    emit: ffi::EmitText,
    data: *mut c_void,
) -> bool {
    let answer = |text: &str| {
        // SAFETY: C++ takes the answer through this callback, which copies it.
        unsafe { emit.expect("a callback for the answer")(ffi::string_ref(text), data) }
    };
    let options = PipelineOptions {
        raw: options,
        info: &P::INFO,
    };
    // SAFETY: the pipeline is being built, has a string option at this index, and keeps its value until it is.
    let value = |index| unsafe { ffi::str_from_raw(ffi::asyncOptPipelineGetString(options.raw, index)) };
    if let Err(message) = options::check_choices(P::INFO.options, value) {
        answer(&message);
        return false;
    }
    let (ok, text) = match catch_unwind(AssertUnwindSafe(|| P::passes(&options))) {
        Ok(Ok(passes)) => (true, passes.to_string()),
        Ok(Err(message)) => (false, message),
        Err(panic) => {
            let message = panic_message(&*panic);
            (
                false,
                format!(
                    "internal error in pipeline '{}': {message} (this is a bug in async-opt)",
                    P::INFO.flag
                ),
            )
        }
    };
    answer(&text);
    ok
}
