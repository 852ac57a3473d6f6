//! Options of passes, pipelines and transforms.

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
    /// One of several words.
    Choice {
        /// The word if the user says nothing.
        default: &'static str,
        /// All words, each with what it means, which may be empty.
        words: &'static [(&'static str, &'static str)],
    },
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

    /// An option whose value is one of `words`, each with what it means. Other values are refused before the pass or
    /// pipeline sees them.
    #[must_use]
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        words: &'static [(&'static str, &'static str)],
        description: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            default: OptionValue::Choice { default, words },
        }
    }

    /// What `--help` says: the description, and the words that there are to choose from.
    fn help(&self) -> String {
        let OptionValue::Choice { words, .. } = self.default else {
            return self.description.to_owned();
        };
        let words = words.iter().map(|(word, meaning)| match *meaning {
            "" => (*word).to_owned(),
            meaning => format!("{word} ({meaning})"),
        });
        format!("{}: {}", self.description, alternatives(words.collect()))
    }

    /// Returns an error if `value` is not one that a choice has.
    fn check(&self, value: &str) -> Result<(), String> {
        match self.default {
            OptionValue::Choice { words, .. } if words.iter().all(|(word, _)| *word != value) => {
                let words = words.iter().map(|(word, _)| (*word).to_owned()).collect();
                Err(format!(
                    "{} is '{value}', but must be {}",
                    self.name,
                    alternatives(words)
                ))
            }
            _ => Ok(()),
        }
    }

    /// `help` is what [`Self::help`] returns, and has to live as long as the result.
    fn to_ffi(self, help: &str) -> ffi::AsyncOptOption {
        let mut option = ffi::AsyncOptOption {
            name: ffi::string_ref(self.name),
            description: ffi::string_ref(help),
            kind: ffi::AsyncOptOptionBool,
            boolDefault: false,
            intDefault: 0,
            stringDefault: ffi::string_ref(""),
        };
        match self.default {
            OptionValue::Bool(value) => option.boolDefault = value,
            OptionValue::Int(value) => {
                option.kind = ffi::AsyncOptOptionInt;
                option.intDefault = value;
            }
            OptionValue::String(value) | OptionValue::Choice { default: value, .. } => {
                option.kind = ffi::AsyncOptOptionString;
                option.stringDefault = ffi::string_ref(value);
            }
        }
        option
    }
}

/// The options that something was given.
pub trait Options {
    /// The value of the boolean option `name`.
    ///
    /// # Panics
    ///
    /// If there is no such option; likewise for the other types.
    fn bool(&self, name: &str) -> bool;

    /// The value of the integer option `name`.
    fn int(&self, name: &str) -> i64;

    /// The value of the string option `name`.
    fn str(&self, name: &str) -> &str;
}

/// Calls `work` with `options` for the C API, which live during the call.
pub(crate) fn with_ffi<T>(options: &[OptionInfo], work: impl FnOnce(&[ffi::AsyncOptOption]) -> T) -> T {
    let help: Vec<_> = options.iter().map(OptionInfo::help).collect();
    let options: Vec<_> = options
        .iter()
        .zip(&help)
        .map(|(option, help)| option.to_ffi(help))
        .collect();
    work(&options)
}

/// `a, b or c`
fn alternatives(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        last
    } else {
        format!("{} or {last}", words.join(", "))
    }
}

/// Returns an error if a choice among `options` has a value that it does not know; `value` reads that of a string option
/// at an index.
pub(crate) fn check_choices<'a>(
    options: &[OptionInfo],
    value: impl Fn(isize) -> &'a str,
) -> Result<(), String> {
    let choices = options
        .iter()
        .zip(0..)
        .filter(|(option, _)| matches!(option.default, OptionValue::Choice { .. }));
    choices
        .into_iter()
        .try_for_each(|(option, index)| option.check(value(index)))
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
