//! What a kernel is called with: values, and bytes of the host's memory that the interpreter works on a copy of.
//!
//! Memrefs that overlap share a buffer there. A buffer begins at a multiple of [`ALIGN`] as addresses count, so that what is aligned
//! is aligned in the interpreter, too; what lies between that and the first byte of a memref reads as zero.
//!
//! A copy is made of the bytes from a memref's first element to its last, and those that the kernel has changed are written back. So two
//! kernels may run at a time that write different bytes of one memref.

use async_sim::code::{Code, ParamKind};
use async_sim::memory::{Buffer, Contents, Memory, Space, Touched};
use async_sim::value::{BufferId, Elem, Value, View};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// What the runtime's allocations are aligned to, and what no kernel asks more than.
const ALIGN: usize = 256;

/// The arguments of a launch.
pub struct Arguments {
    /// What the kernel gets.
    pub values: Vec<Value>,
    copies: Vec<Copied>,
}

/// Bytes of the host that the interpreter has a copy of.
struct Copied {
    buffer: BufferId,
    /// Their addresses.
    host: Range<usize>,
    /// What they were.
    before: Vec<u8>,
}

/// A parameter that is a memref, and where it is in the host's memory.
struct Memref {
    index: usize,
    view: View,
    /// What `offset` counts from.
    data: usize,
    /// The addresses of the first and after the last byte; empty if it has no elements.
    host: Range<usize>,
}

impl Arguments {
    /// Reads arguments, and copies what they point at.
    ///
    /// # Errors
    ///
    /// A message, if they are not those of the kernel, or more than the interpreter has room for.
    ///
    /// # Safety
    ///
    /// `pointers` point at the arguments of the kernel, with each memref as the fields of its descriptor, and the elements of each memref
    /// are there.
    pub unsafe fn read(code: &Code, pointers: &[*mut c_void], memory: &mut Memory) -> Result<Self, String> {
        let fields = |kind: &ParamKind| match kind {
            ParamKind::MemRef { sizes, .. } => 3 + 2 * sizes.len(),
            _ => 1,
        };
        let wanted: usize = code.params.iter().map(|param| fields(&param.kind)).sum();
        if wanted != pointers.len() {
            return Err(format!(
                "it is launched with {} values, and takes {wanted}, the fields of memrefs being values of their own",
                pointers.len()
            ));
        }
        let mut values = vec![Value::Poison; code.params.len()];
        let mut memrefs = Vec::new();
        let mut rest = pointers;
        for (index, param) in code.params.iter().enumerate() {
            let (mine, after) = rest.split_at(fields(&param.kind));
            rest = after;
            match &param.kind {
                // SAFETY: as the caller promises.
                ParamKind::Number(elem) => values[index] = unsafe { number(*elem, mine[0]) },
                ParamKind::MemRef { workgroup: false, .. } => {
                    // SAFETY: as the caller promises.
                    let memref = unsafe { Memref::read(index, &param.kind, mine) };
                    memrefs.push(memref.map_err(|message| format!("argument {index} {message}"))?);
                }
                ParamKind::MemRef { .. } => {
                    return Err(format!(
                        "argument {index} is in memory of the workgroup, which the host has none of"
                    ));
                }
                ParamKind::Tensor(_) => {
                    return Err(format!(
                        "argument {index} is a tensor map descriptor, which the host can't make yet"
                    ));
                }
            }
        }
        // SAFETY: as the caller promises.
        let copies = unsafe { copy_in(memrefs, &mut values, memory) }?;
        Ok(Self { values, copies })
    }

    /// Calls `f` with the addresses of what the kernel has accessed, whether it has written there, and whether all that was atomic.
    pub fn each_access(&self, touched: &Touched, mut f: impl FnMut(Range<usize>, bool, bool)) {
        for (buffer, bytes, writes, is_atomic) in touched.each() {
            let Some(copied) = self.copies.iter().find(|copied| copied.buffer == buffer) else {
                continue;
            };
            // The buffer begins with what aligns it.
            let first = copied.host.start - copied.host.start % ALIGN;
            let start = (first + bytes.start).max(copied.host.start);
            f(start..first + bytes.end, writes, is_atomic);
        }
    }

    /// Writes back what the kernel has changed.
    ///
    /// # Safety
    ///
    /// The memory that they were read from is still there.
    pub unsafe fn write_back(&self, buffers: &[Buffer]) {
        for copied in &self.copies {
            let data = &buffers[copied.buffer.0 as usize].data;
            let after = &data[data.len() - copied.before.len()..];
            let is_changed = |i: usize| copied.before[i] != after[i];
            let mut i = 0;
            while i < after.len() {
                let start = i;
                while i < after.len() && is_changed(i) {
                    i += 1;
                }
                if start == i {
                    i += 1;
                    continue;
                }
                let to = ptr::with_exposed_provenance_mut::<u8>(copied.host.start + start);
                // SAFETY: as the caller promises.
                unsafe { ptr::copy_nonoverlapping(after[start..i].as_ptr(), to, i - start) };
            }
        }
    }
}

/// The bits of a number.
///
/// # Safety
///
/// There is one at `pointer`.
unsafe fn number(elem: Elem, pointer: *mut c_void) -> Value {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), elem.bytes()) };
    Value::Bits(elem.from_bytes(bytes))
}

impl Memref {
    /// Reads a descriptor.
    ///
    /// # Safety
    ///
    /// `fields` point at the two pointers, the offset, the sizes and the strides.
    unsafe fn read(index: usize, kind: &ParamKind, fields: &[*mut c_void]) -> Result<Self, String> {
        let ParamKind::MemRef {
            sizes: known,
            elem,
            lanes,
            ..
        } = kind
        else {
            return Err("is no memref".into());
        };
        // Bits are packed in vectors, and vectors are padded to a power of two.
        if *lanes > 1 && (elem.bits() < 8 || !lanes.is_power_of_two()) {
            return Err("has vectors that the host lays out in another way than the interpreter".into());
        }
        // SAFETY: as the caller promises.
        let numbers: Vec<i64> = fields[1..]
            .iter()
            .map(|field| unsafe { field.cast::<i64>().read_unaligned() })
            .collect();
        let (sizes, strides) = numbers[2..].split_at(known.len());
        for (dim, (size, known)) in sizes.iter().zip(known).enumerate() {
            if *size < 0 || known.is_some_and(|known| known != *size) {
                return Err(format!(
                    "has size {size} in dimension {dim}, which its type does not allow"
                ));
            }
        }
        let view = View {
            buffer: BufferId(0),
            base: 0,
            offset: numbers[1],
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            elem: *elem,
            lanes: *lanes,
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // An address.
        let data = numbers[0] as usize;
        let host = addresses(&view, data).ok_or("has sizes and strides that no memory has room for")?;
        if !host.is_empty() && data == 0 {
            return Err("is a null pointer".into());
        }
        Ok(Self {
            index,
            view,
            data,
            host,
        })
    }
}

/// Where the elements of a view are whose offset counts from `data`; `None` if there are no such addresses.
fn addresses(view: &View, data: usize) -> Option<Range<usize>> {
    if view.sizes.contains(&0) {
        return Some(data..data);
    }
    let (mut first, mut last) = (i128::from(view.offset), i128::from(view.offset));
    for (size, stride) in view.sizes.iter().zip(&view.strides) {
        let reach = i128::from(size - 1) * i128::from(*stride);
        first += reach.min(0);
        last += reach.max(0);
    }
    let address = |element: i128| {
        let bytes = element.checked_mul(view.elem_bytes().into())?;
        usize::try_from(i128::try_from(data).ok()?.checked_add(bytes)?).ok()
    };
    Some(address(first)?..address(last + 1)?)
}

/// Makes a buffer of each part of the host's memory that memrefs have, and the values of the memrefs.
///
/// # Safety
///
/// Their elements are there.
unsafe fn copy_in(
    mut memrefs: Vec<Memref>,
    values: &mut [Value],
    memory: &mut Memory,
) -> Result<Vec<Copied>, String> {
    memrefs.sort_by_key(|memref| memref.host.start);
    let mut copies = Vec::new();
    let mut rest = memrefs.as_mut_slice();
    while !rest.is_empty() {
        let mut host = rest[0].host.clone();
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| next.host.start < host.end) {
            host.end = host.end.max(next.host.end);
            count += 1;
        }
        let (mine, after) = rest.split_at_mut(count);
        rest = after;
        let padding = host.start % ALIGN;
        if !memory.has_room(padding.saturating_add(host.len())) {
            return Err("its memrefs have more bytes than the interpreter has room for".into());
        }
        let mut before = Vec::<u8>::with_capacity(host.len());
        if !host.is_empty() {
            let source = ptr::with_exposed_provenance::<u8>(host.start);
            // No reference: others may write bytes that the kernel leaves alone.
            // SAFETY: as the caller promises, and there is room.
            unsafe {
                ptr::copy_nonoverlapping(source, before.as_mut_ptr(), host.len());
                before.set_len(host.len());
            }
        }
        let mut bytes = vec![0; padding];
        bytes.extend_from_slice(&before);
        // An element has a name if there is but one view of the buffer.
        let array = mine[0].view.array().filter(|_| count == 1 && padding == 0);
        let mut indices: Vec<_> = mine.iter().map(|memref| memref.index).collect();
        indices.sort_unstable();
        let names: Vec<_> = indices.iter().map(|index| format!("argument {index}")).collect();
        let align = u32::try_from(ALIGN).unwrap_or(1);
        let contents = Contents::Bytes(bytes);
        let buffer = memory.add(names.join(" and "), Space::Global, align, contents, array);
        for memref in mine {
            let start = i64::try_from(host.start - padding).unwrap_or(i64::MAX);
            memref.view.base = i64::try_from(memref.data).unwrap_or(i64::MAX) - start;
            memref.view.buffer = buffer;
            values[memref.index] = Value::View(Arc::new(memref.view.clone()));
        }
        copies.push(Copied { buffer, host, before });
    }
    Ok(copies)
}
