//! What values are called in the text that they are from: MLIR forgets that, but knows where each of them stands.

use async_mlir::location::file_position;
use async_mlir::melior::ir::Location;
use std::fs;

/// The text of the file that a kernel was parsed from, if there is one that can be read again.
#[derive(Default)]
pub(super) struct Names {
    file: String,
    text: String,
}

impl Names {
    /// Reads a file. A place may name any other, even one that never ends, so that no other is looked at.
    pub fn of(file: &str) -> Self {
        let is_file = fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
        let text = is_file.then(|| fs::read_to_string(file).ok()).flatten();
        Self {
            file: file.to_owned(),
            text: text.unwrap_or_default(),
        }
    }

    /// The name of what is defined at a place, such as `%full`: of an argument that stands there, or of the only result of an
    /// operation there. `None` if the text is not to be had.
    pub fn at(&self, location: Location<'_>) -> Option<String> {
        let place = file_position(location).filter(|place| place.file == self.file)?;
        let line = self.text.lines().nth(place.line.checked_sub(1)? as usize)?;
        let (before, from) = line.split_at_checked(place.column.checked_sub(1)? as usize)?;
        if let Some(own) = from.strip_prefix('%') {
            let own = own.split(|c| !is_in_name(c)).next()?;
            return name(&format!("%{own}"));
        }
        let result = before.trim_end().strip_suffix('=')?.trim_end();
        name(result.rsplit(char::is_whitespace).next()?)
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$.-".contains(c)
}

fn name(text: &str) -> Option<String> {
    let own = text.strip_prefix('%')?;
    (!own.is_empty() && own.chars().all(is_in_name)).then(|| text.to_owned())
}
