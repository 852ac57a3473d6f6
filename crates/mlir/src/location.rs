//! What locations say.

use crate::ffi;
use melior::ir::Location;
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePosition<'c> {
    /// The name of the file.
    pub file: &'c str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for FilePosition<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The place that `location` is, or where the range begins that it is; `None` for other kinds of locations.
#[must_use]
pub fn file_position(location: Location<'_>) -> Option<FilePosition<'_>> {
    let raw = location.to_raw();
    // SAFETY: a live location, of the kind that is asked; names of files are interned in its context.
    unsafe {
        mlirLocationIsAFileLineColRange(raw).then(|| {
            let file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(raw));
            FilePosition {
                file: ffi::str_from_raw(file),
                line: number(mlirLocationFileLineColRangeGetStartLine(raw)),
                column: number(mlirLocationFileLineColRangeGetStartColumn(raw)),
            }
        })
    }
}

/// The place in a file that `location` leads to: through names, to the place of a call for what was inlined there, and to
/// the last of those that were fused.
#[must_use]
pub fn position(location: Location<'_>) -> Option<FilePosition<'_>> {
    let raw = location.to_raw();
    // SAFETY: a live location, of the kind that is asked; so are those that it is made of. The array has room for all.
    unsafe {
        if mlirLocationIsAName(raw) {
            position(Location::from_raw(mlirLocationNameGetChildLoc(raw)))
        } else if mlirLocationIsACallSite(raw) {
            position(Location::from_raw(mlirLocationCallSiteGetCaller(raw)))
        } else if mlirLocationIsAFused(raw) {
            let count = mlirLocationFusedGetNumLocations(raw);
            let mut parts = vec![raw; count as usize];
            mlirLocationFusedGetLocations(raw, parts.as_mut_ptr());
            let parts = parts.into_iter().rev();
            parts.map(|part| Location::from_raw(part)).find_map(position)
        } else {
            file_position(location)
        }
    }
}

/// MLIR's numbers of lines and columns are unsigned, but the C API returns them as `int`.
fn number(raw: i32) -> u32 {
    raw.cast_unsigned()
}
