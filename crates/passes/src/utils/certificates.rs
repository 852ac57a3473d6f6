//! Writes certificates to files, one JSON object a line.
//!
//! A pass runs on many functions in parallel, and nobody tells it which one is the last. So each certificate is written as soon as it is
//! there, to its place in the order of functions: what is in the file does not depend on who was first. The first one of a process
//! replaces what was in the file before.

use async_mlir::ir::Op;
use async_mlir::pass::{OptionInfo, PassError};
use async_verify::certificates::Record;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};

/// The option that names the file.
pub(crate) const CERTIFICATES: OptionInfo = OptionInfo::string(
    "certificates",
    "",
    "write certificates to this file, for async-verify; implies verify-result",
);

/// A file of certificates that this process writes.
struct Certificates {
    file: File,
    /// Functions, with their lines.
    lines: BTreeSet<(String, String)>,
    size: u64,
}

/// The files of this process, by their names; `None` for one that can't be written, which was said.
static FILES: Mutex<BTreeMap<String, Option<Certificates>>> = Mutex::new(BTreeMap::new());

/// Writes `record`, of `function`, to the file `path`. Of several errors for one file, there is but the first.
pub(crate) fn write<'c>(path: &str, record: &Record, function: Op<'c>) -> Result<(), PassError<'c>> {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let written = match files.entry(path.to_owned()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => match Certificates::create(path) {
            Ok(new) => place.insert(Some(new)),
            Err(error) => {
                place.insert(None);
                return Err(cannot_write(path, &error, function));
            }
        },
    };
    let Some(certificates) = written else {
        return Ok(());
    };
    certificates.add(record).map_err(|error| {
        *written = None;
        cannot_write(path, &error, function)
    })
}

fn cannot_write<'c>(path: &str, error: &io::Error, function: Op<'c>) -> PassError<'c> {
    let message = format!("can't write certificates to '{path}': {error}");
    PassError::new(function.location(), message)
}

impl Certificates {
    fn create(path: &str) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            lines: BTreeSet::new(),
            size: 0,
        })
    }

    /// Adds a line in its place. Those that belong after it are written again; functions come nearly in order.
    fn add(&mut self, record: &Record) -> io::Result<()> {
        let key = (record.function().to_owned(), record.line()?);
        if self.lines.contains(&key) {
            return Ok(());
        }
        let after = (Bound::Excluded(&key), Bound::Unbounded);
        let mut text = key.1.clone();
        text.extend(self.lines.range(after).map(|(_, line)| line.as_str()));
        let place = self.size - (text.len() - key.1.len()) as u64;
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(text.as_bytes())?;
        self.size = place + text.len() as u64;
        self.lines.insert(key);
        Ok(())
    }
}
