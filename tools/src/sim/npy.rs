//! Files in the format of NumPy (NEP 1).

use anyhow::{Context, Result, bail};
use async_sim::inputs::{Argument, Fill};
use async_sim::value::{Elem, View};
use std::path::Path;

/// The start of a file, before its version.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array.
///
/// # Errors
///
/// If the file is not there, or not of this format.
pub fn read(path: &Path) -> Result<Argument> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("{name}"))?;
    let Some((header, data)) = split(&bytes) else {
        bail!("{name} is no .npy file of version 1, 2 or 3");
    };
    let header = String::from_utf8_lossy(header);
    if header.contains("'fortran_order': True") {
        bail!("{name} is in Fortran order");
    }
    let between = |start: &str, end: &str| {
        let (_, rest) = header.split_once(start)?;
        rest.split_once(end).map(|(text, _)| text.to_owned())
    };
    let shape = between("'shape': (", ")").with_context(|| format!("the header of {name} has no shape"))?;
    let kind = between("'descr': '", "'").with_context(|| format!("the header of {name} has no type"))?;
    let sizes: Result<Vec<i64>, _> = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(str::parse)
        .collect();
    Ok(Argument::Buffer {
        sizes: sizes.with_context(|| format!("the header of {name} has sizes that are no numbers"))?,
        fill: Fill::Bytes {
            bytes: data.to_vec(),
            kind,
        },
    })
}

/// The header, and what comes after it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (version, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<2>()?;
    if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        return rest.split_at_checked(u16::from_le_bytes(*length).into());
    }
    let (length, rest) = rest.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// Writes what a view shows of a buffer, row by row. An element that is a vector is a last dimension.
///
/// # Errors
///
/// If the file can't be written.
pub fn write(path: &Path, view: &View, data: &[u8]) -> Result<()> {
    let mut sizes = view.sizes.clone();
    if view.lanes > 1 {
        sizes.push(view.lanes.into());
    }
    // Of one size, a tuple ends with a comma.
    let shape: Vec<String> = sizes.iter().map(|size| format!("{size},")).collect();
    let shape = shape.concat();
    let kind = kind(view.elem);
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend(u16::try_from(header.len())?.to_le_bytes());
    file.extend(header.as_bytes());
    for element in view.elements() {
        file.extend(&data[element]);
    }
    std::fs::write(path, file).with_context(|| format!("{}", path.display()))
}

/// The type's name in a header.
fn kind(elem: Elem) -> &'static str {
    elem.npy_kinds()[0]
}
