//! What a kernel is called with: values, and bytes of memory outside that the interpreter works on a copy of.
//!
//! Memrefs that overlap share a buffer there. A buffer begins at a multiple of [`ALIGN`] as addresses count, so that what is aligned
//! is aligned in the interpreter, too; what lies between that and the first byte of a memref reads as zero.
//!
//! A copy is made of the bytes from a memref's first element to its last, and those that the kernel has changed are written back. So two
//! kernels may run at a time that write different bytes of one memref.

use super::Outside;
use crate::code::{Code, ParamKind};
use crate::memory::{Buffer, Contents, Memory, Space, Touched};
use crate::value::{BufferId, Elem, Value, View, row_by_row};
use std::ops::Range;
use std::sync::Arc;

/// What allocations are aligned to, and what no kernel asks more than.
const ALIGN: u64 = 256;

/// Arguments that were read, and what they point at was not.
pub struct Decoded {
    values: Vec<Value>,
    memrefs: Vec<Memref>,
}

/// The arguments of a launch.
pub struct Arguments {
    /// What the kernel gets.
    pub values: Vec<Value>,
    copies: Vec<Copied>,
}

/// Bytes outside that the interpreter has a copy of.
struct Copied {
    buffer: BufferId,
    /// Their addresses.
    outside: Range<u64>,
    /// What comes before them in the buffer.
    padding: usize,
    /// What they were.
    before: Vec<u8>,
    /// True if no argument shows them.
    is_variable: bool,
}

/// A parameter that is a memref, and where it is outside.
struct Memref {
    index: usize,
    view: View,
    /// What `offset` counts from.
    data: u64,
    /// The addresses of the first and after the last byte; empty if it has no elements.
    outside: Range<u64>,
}

/// Reads bytes at an address.
type Read<'a> = &'a dyn Fn(u64, &mut [u8]);

fn word(read: Read<'_>, from: u64) -> u64 {
    let mut bytes = [0; 8];
    read(from, &mut bytes);
    u64::from_ne_bytes(bytes)
}

impl Decoded {
    /// Reads the arguments of a kernel. `pointers` are the addresses of their values, with each memref as the fields of its descriptor, or
    /// each as a bare pointer, which its type says the rest of.
    ///
    /// # Errors
    ///
    /// A message that goes on from the name of the kernel, if they are not those of the kernel.
    pub fn read(code: &Code, pointers: &[u64], read: Read<'_>) -> Result<Self, String> {
        let fields = |kind: &ParamKind| match kind {
            ParamKind::MemRef { sizes, .. } => 3 + 2 * sizes.len(),
            _ => 1,
        };
        let wanted: usize = code.params.iter().map(|param| fields(&param.kind)).sum();
        let is_bare = pointers.len() != wanted && pointers.len() == code.params.len();
        if wanted != pointers.len() && !is_bare {
            return Err(format!(
                "it is launched with {} values, and takes {wanted}, the fields of memrefs being values of their own",
                pointers.len()
            ));
        }
        let mut values = vec![Value::Poison; code.params.len()];
        let mut memrefs = Vec::new();
        let mut rest = pointers;
        for (index, param) in code.params.iter().enumerate() {
            let (mine, after) = rest.split_at(if is_bare { 1 } else { fields(&param.kind) });
            rest = after;
            match &param.kind {
                ParamKind::Number(elem) => values[index] = number(*elem, mine[0], read),
                ParamKind::MemRef { workgroup: false, .. } => {
                    let memref = if is_bare {
                        Memref::bare(index, &param.kind, word(read, mine[0]))
                    } else {
                        Memref::read(index, &param.kind, mine, read)
                    };
                    memrefs.push(memref.map_err(|message| format!("argument {index} {message}"))?);
                }
                ParamKind::MemRef { .. } => {
                    return Err(format!(
                        "argument {index} is in memory of the workgroup, which the host has none of"
                    ));
                }
                ParamKind::Unused => {}
                ParamKind::Tensor(_) => {
                    return Err(format!(
                        "argument {index} is a tensor map descriptor, which the host can't make yet"
                    ));
                }
            }
        }
        Ok(Self { values, memrefs })
    }

    /// Makes a buffer of each part of the memory that memrefs have, and copies it.
    ///
    /// # Errors
    ///
    /// If that is more than the interpreter has room for.
    pub fn bind(self, memory: &mut Memory, outside: &dyn Outside) -> Result<Arguments, String> {
        let Self {
            mut values,
            mut memrefs,
        } = self;
        memrefs.sort_by_key(|memref| memref.outside.start);
        let mut copies = Vec::new();
        let mut rest = memrefs.as_mut_slice();
        while !rest.is_empty() {
            let mut range = rest[0].outside.clone();
            let mut count = 1;
            while let Some(next) = rest.get(count).filter(|next| next.outside.start < range.end) {
                range.end = range.end.max(next.outside.end);
                count += 1;
            }
            let (mine, after) = rest.split_at_mut(count);
            rest = after;
            copies.push(copy_in(mine, range, &mut values, memory, outside)?);
        }
        Ok(Arguments { values, copies })
    }
}

impl Arguments {
    /// How many bytes are copied.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.copies.iter().map(|copied| copied.before.len()).sum()
    }

    /// The buffer of a variable stands for bytes at an address.
    pub fn share_variable(&mut self, buffer: BufferId, start: u64, memory: &Memory) {
        let before = memory.buffer(buffer).data.clone();
        self.copies.push(Copied {
            buffer,
            outside: start..start + before.len() as u64,
            padding: 0,
            before,
            is_variable: true,
        });
    }

    /// Copies again what is outside.
    pub fn refresh(&mut self, memory: &mut Memory, outside: &dyn Outside) {
        for copied in &mut self.copies {
            outside.read(copied.outside.start, &mut copied.before);
            if let Some(data) = memory.bytes_of(copied.buffer).get_mut(copied.padding..) {
                data.copy_from_slice(&copied.before);
            }
        }
    }

    /// Calls `f` with the addresses of what the kernel has accessed by its arguments, whether it has written there, and whether all that was atomic.
    pub fn each_access(&self, touched: &Touched, mut f: impl FnMut(Range<u64>, bool, bool)) {
        for (buffer, bytes, writes, is_atomic) in touched.each() {
            let shown = |copied: &&Copied| copied.buffer == buffer && !copied.is_variable;
            let Some(copied) = self.copies.iter().find(shown) else {
                continue;
            };
            let address = |byte: usize| copied.outside.start - copied.padding as u64 + byte as u64;
            let start = address(bytes.start).max(copied.outside.start);
            f(start..address(bytes.end), writes, is_atomic);
        }
    }

    /// Writes back what the kernel has changed.
    pub fn write_back(&self, buffers: &[Buffer], outside: &mut dyn Outside) {
        for copied in &self.copies {
            let Some(after) = buffers[copied.buffer.0 as usize].data.get(copied.padding..) else {
                // It has freed what it was given.
                continue;
            };
            let mut start = 0;
            while start < after.len() {
                let same = copied.before[start..].iter().zip(&after[start..]);
                start += same.take_while(|(before, after)| before == after).count();
                let other = copied.before[start..].iter().zip(&after[start..]);
                let end = start + other.take_while(|(before, after)| before != after).count();
                if end > start {
                    outside.write(copied.outside.start + start as u64, &after[start..end]);
                }
                start = end;
            }
        }
    }
}

/// The bits of a number.
fn number(elem: Elem, pointer: u64, read: Read<'_>) -> Value {
    let mut bytes = vec![0; elem.bytes()];
    read(pointer, &mut bytes);
    Value::Bits(elem.from_bytes(&bytes))
}

impl Memref {
    /// Reads a descriptor, whose fields are the two pointers, the offset, the sizes and the strides.
    fn read(index: usize, kind: &ParamKind, fields: &[u64], read: Read<'_>) -> Result<Self, String> {
        let ParamKind::MemRef { sizes: known, .. } = kind else {
            return Err("is no memref".into());
        };
        let words: Vec<u64> = fields[1..].iter().map(|field| word(read, *field)).collect();
        let numbers: Vec<i64> = words[1..].iter().map(|word| word.cast_signed()).collect();
        let (sizes, strides) = numbers[1..].split_at(known.len());
        for (dim, (size, known)) in sizes.iter().zip(known).enumerate() {
            if *size < 0 || known.is_some_and(|known| known != *size) {
                return Err(format!(
                    "has size {size} in dimension {dim}, which its type does not allow"
                ));
            }
        }
        Self::at(
            index,
            kind,
            words[0],
            (numbers[0], sizes.to_vec(), strides.to_vec()),
        )
    }

    /// A memref of which there is the address alone.
    fn bare(index: usize, kind: &ParamKind, data: u64) -> Result<Self, String> {
        let ParamKind::MemRef {
            sizes,
            strides,
            offset,
            ..
        } = kind
        else {
            return Err("is no memref".into());
        };
        // MLIR makes no bare pointer of a memref whose type leaves anything open.
        let sizes: Option<Vec<i64>> = sizes.iter().copied().collect();
        let sizes =
            sizes.ok_or("is a bare pointer, and its type leaves its sizes open: launch with descriptors")?;
        let strides = strides.clone().unwrap_or_else(|| row_by_row(&sizes));
        Self::at(index, kind, data, (*offset, sizes, strides))
    }

    fn at(
        index: usize,
        kind: &ParamKind,
        data: u64,
        (offset, sizes, strides): (i64, Vec<i64>, Vec<i64>),
    ) -> Result<Self, String> {
        let ParamKind::MemRef { elem, lanes, .. } = kind else {
            return Err("is no memref".into());
        };
        // Bits are packed in vectors, and vectors are padded to a power of two.
        if *lanes > 1 && (elem.bits() < 8 || !lanes.is_power_of_two()) {
            return Err("has vectors that the host lays out in another way than the interpreter".into());
        }
        let view = View {
            buffer: BufferId(0),
            base: 0,
            offset,
            sizes,
            strides,
            elem: *elem,
            lanes: *lanes,
        };
        let outside = addresses(&view, data).ok_or("has sizes and strides that no memory has room for")?;
        if !outside.is_empty() && data == 0 {
            return Err("is a null pointer".into());
        }
        Ok(Self {
            index,
            view,
            data,
            outside,
        })
    }
}

/// Where the elements of a view are whose offset counts from `data`; `None` if there are no such addresses.
fn addresses(view: &View, data: u64) -> Option<Range<u64>> {
    if view.sizes.contains(&0) {
        return Some(data..data);
    }
    let (mut first, mut last) = (i128::from(view.offset), i128::from(view.offset));
    for (size, stride) in view.sizes.iter().zip(&view.strides) {
        let reach = i128::from(size - 1) * i128::from(*stride);
        first = first.checked_add(reach.min(0))?;
        last = last.checked_add(reach.max(0))?;
    }
    let address = |element: i128| {
        let bytes = element.checked_mul(view.elem_bytes().into())?;
        u64::try_from(i128::from(data).checked_add(bytes)?).ok()
    };
    Some(address(first)?..address(last + 1)?)
}

/// Makes a buffer of some bytes outside, and the values of the memrefs that are there.
fn copy_in(
    memrefs: &mut [Memref],
    outside: Range<u64>,
    values: &mut [Value],
    memory: &mut Memory,
    bytes_outside: &dyn Outside,
) -> Result<Copied, String> {
    let mut outside = outside;
    if !outside.is_empty() {
        // What a memref says that is there, and is not, is out of bounds.
        let extent = bytes_outside.extent(&outside);
        outside.end = extent.map_err(|message| format!("argument {} {message}", memrefs[0].index))?;
    }
    let length = usize::try_from(outside.end - outside.start).unwrap_or(usize::MAX);
    let padding = usize::try_from(outside.start % ALIGN).unwrap_or(0);
    if !memory.has_room(padding.saturating_add(length)) {
        return Err("its memrefs have more bytes than the interpreter has room for".into());
    }
    let mut before = vec![0; length];
    if length > 0 {
        bytes_outside.read(outside.start, &mut before);
    }
    let mut bytes = vec![0; padding];
    bytes.extend_from_slice(&before);
    // An element has a name if there is but one view of the buffer.
    let array = memrefs[0]
        .view
        .array()
        .filter(|_| memrefs.len() == 1 && padding == 0);
    let mut indices: Vec<_> = memrefs.iter().map(|memref| memref.index).collect();
    indices.sort_unstable();
    let names: Vec<_> = indices.iter().map(|index| format!("argument {index}")).collect();
    let align = u32::try_from(ALIGN).unwrap_or(1);
    let contents = Contents::Bytes(bytes);
    let buffer = memory.add(names.join(" and "), Space::Global, align, contents, array);
    for memref in memrefs {
        let start = outside.start - padding as u64;
        memref.view.base = memref.data.wrapping_sub(start).cast_signed();
        memref.view.buffer = buffer;
        values[memref.index] = Value::View(Arc::new(memref.view.clone()));
    }
    Ok(Copied {
        buffer,
        outside,
        padding,
        before,
        is_variable: false,
    })
}
