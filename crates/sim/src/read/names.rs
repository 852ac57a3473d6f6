//! What values are called in the text that they are from: MLIR forgets that, but knows where each of them stands.

use async_mlir::location::file_position;
use async_mlir::melior::ir::Location;
use std::collections::HashMap;
use std::fs;

/// The files that places are in, as far as they can be read.
#[derive(Default)]
pub(super) struct Names {
    files: HashMap<String, Option<String>>,
}

impl Names {
    /// The name of what is defined at a place, such as `%full`: of an argument that stands there, or of the only result of an
    /// operation there. `None` if the text is not to be had.
    pub fn at(&mut self, location: Location<'_>) -> Option<String> {
        let place = file_position(location)?;
        let file = self.files.entry(place.file.to_owned());
        let text = file
            .or_insert_with(|| fs::read_to_string(place.file).ok())
            .as_ref()?;
        let line = text.lines().nth(place.line.checked_sub(1)? as usize)?;
        let (before, from) = line.split_at_checked(place.column.checked_sub(1)? as usize)?;
        if from.starts_with('%') {
            let end = from[1..]
                .find(|c| !is_in_name(c))
                .map_or(from.len(), |end| end + 1);
            return name(&from[..end]);
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
