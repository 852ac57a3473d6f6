//! Options of passes and pipelines.

use crate::ffi;

/// An option of a pass or a pipeline: `--flag=name=value`, or `flag{name=value}` in a textual pipeline.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The name, in kebab case.
    pub name: &'static str,
    /// One line for `--help`.
    pub description: &'static str,
    /// The value if the user says nothing, and with it the type.
    pub default: OptionValue,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OptionValue {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    String(&'static str),
}

impl OptionInfo {
    /// A boolean option.
    #[must_use]
    pub const fn bool(name: &'static str, default: bool, description: &'static str) -> Self {
        Self {
            name,
            description,
            default: OptionValue::Bool(default),
        }
    }

    /// An integer option.
    #[must_use]
    pub const fn int(name: &'static str, default: i64, description: &'static str) -> Self {
        Self {
            name,
            description,
            default: OptionValue::Int(default),
        }
    }

    /// A string option.
    #[must_use]
    pub const fn string(name: &'static str, default: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            default: OptionValue::String(default),
        }
    }

    pub(crate) fn to_ffi(self) -> ffi::AsyncOptOption {
        let mut option = ffi::AsyncOptOption {
            name: ffi::string_ref(self.name),
            description: ffi::string_ref(self.description),
            kind: ffi::OPTION_BOOL,
            bool_default: false,
            int_default: 0,
            string_default: ffi::string_ref(""),
        };
        match self.default {
            OptionValue::Bool(value) => option.bool_default = value,
            OptionValue::Int(value) => {
                option.kind = ffi::OPTION_INT;
                option.int_default = value;
            }
            OptionValue::String(value) => {
                option.kind = ffi::OPTION_STRING;
                option.string_default = ffi::string_ref(value);
            }
        }
        option
    }
}

/// The position of option `name` in `options`, which is how C++ knows it. `of_kind` tells whether its default has the
/// type that the caller is going to read.
///
/// # Panics
///
/// If there is no such option: a pass then asks for what its own `INFO` does not list.
pub(crate) fn find(options: &[OptionInfo], name: &str, of_kind: impl Fn(OptionValue) -> bool) -> isize {
    options
        .iter()
        .position(|option| option.name == name && of_kind(option.default))
        .unwrap_or_else(|| panic!("no option `{name}` of that type is declared"))
        .cast_signed()
}
