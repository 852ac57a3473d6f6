//! The functions of MLIR's runner libraries that compiled host code calls: they print memrefs and numbers, and copy.
//!
//! Names, arguments and output are those of `mlir/ExecutionEngine/RunnerUtils.h` and `CRunnerUtils.h`. Output goes through the C library's
//! buffer, so that it comes in order with what other C code prints. One thing differs: elements of `i8` are printed as numbers, not
//! characters.

#![allow(missing_docs, clippy::missing_safety_doc)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "offsets and sizes of memory that is there"
)]

use std::{
    ffi::{CStr, CString, c_char, c_void},
    fmt::Write as _,
    ptr,
    time::{SystemTime, UNIX_EPOCH},
};

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Prints through the C library.
fn print(text: &str) {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: both are valid.
    unsafe { libc::fputs(text.as_ptr(), stdout) };
}

/// A number as C's `%g` and C++ streams print it: six significant digits.
fn general(value: f64) -> String {
    let mut text = [0u8; 32];
    // SAFETY: the buffer is longer than any such number, and the argument is a double.
    unsafe { libc::snprintf(text.as_mut_ptr().cast(), text.len(), c"%g".as_ptr(), value) };
    CStr::from_bytes_until_nul(&text)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// What a memref can hold and this prints.
trait Element: Copy {
    fn text(self) -> String;
}

macro_rules! elements {
    ($($type:ty: $value:ident => $text:expr;)*) => {
        $(impl Element for $type {
            fn text(self) -> String {
                let $value = self;
                $text
            }
        })*
    };
}

/// A float of 16 bits with 5 bits of exponent.
#[derive(Clone, Copy)]
struct Half(u16);

/// A float of 16 bits, the upper half of one of 32.
#[derive(Clone, Copy)]
struct BFloat(u16);

elements! {
    i8: value => value.to_string();
    i16: value => value.to_string();
    i32: value => value.to_string();
    i64: value => value.to_string();
    u64: value => value.to_string();
    f32: value => general(value.into());
    f64: value => general(value);
    Half: value => general(value.value());
    BFloat: value => general(f32::from_bits(u32::from(value.0) << 16).into());
    [f32; 2]: value => format!("({},{})", general(value[0].into()), general(value[1].into()));
    [f64; 2]: value => format!("({},{})", general(value[0]), general(value[1]));
}

impl Half {
    fn value(self) -> f64 {
        let (exponent, fraction) = (self.0 >> 10 & 31, f64::from(self.0 & 1023));
        let value = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
        };
        if self.0 >> 15 == 1 { -value } else { value }
    }
}

/// An unranked memref: its rank, and its descriptor.
#[repr(C)]
pub struct Unranked {
    rank: i64,
    descriptor: *const c_void,
}

/// The start of a descriptor. `rank` sizes and as many strides follow, both in elements.
#[repr(C)]
struct Descriptor {
    base: *mut u8,
    data: *mut u8,
    offset: i64,
}

/// A descriptor of any rank.
struct Memref<'a> {
    data: *mut u8,
    offset: i64,
    sizes: &'a [i64],
    strides: &'a [i64],
}

impl Unranked {
    /// What the descriptor says.
    ///
    /// # Safety
    ///
    /// The descriptor is one of that rank.
    unsafe fn read(&self) -> Memref<'_> {
        let rank = usize::try_from(self.rank).unwrap_or(0);
        let descriptor = self.descriptor.cast::<Descriptor>();
        // SAFETY: as the caller promises.
        unsafe {
            let Descriptor {
                base: _,
                data,
                offset,
            } = descriptor.read();
            let sizes = descriptor.add(1).cast::<i64>();
            Memref {
                data,
                offset,
                sizes: std::slice::from_raw_parts(sizes, rank),
                strides: std::slice::from_raw_parts(sizes.add(rank), rank),
            }
        }
    }
}

/// Where the first element of a memref is, and how many bytes there are from there to the end of the last one.
///
/// # Errors
///
/// If the sizes and strides are none that memory can have.
///
/// # Safety
///
/// The descriptor is that of a memref of that rank.
pub(crate) unsafe fn extent(
    rank: i64,
    descriptor: *const c_void,
    element_bytes: i64,
) -> Result<(*mut c_void, usize), String> {
    let unranked = Unranked { rank, descriptor };
    // SAFETY: as the caller promises.
    let memref = unsafe { unranked.read() };
    if memref.sizes.contains(&0) {
        return Ok((memref.data.cast(), 0));
    }
    let (mut first, mut last) = (i128::from(memref.offset), i128::from(memref.offset));
    for (size, stride) in memref.sizes.iter().zip(memref.strides) {
        let reach = i128::from(size - 1) * i128::from(*stride);
        first = first.saturating_add(reach.min(0));
        last = last.saturating_add(reach.max(0));
    }
    let bytes_of = |elements: i128| isize::try_from(elements.checked_mul(element_bytes.into())?).ok();
    let bytes = last
        .checked_sub(first)
        .and_then(|reach| bytes_of(reach.checked_add(1)?));
    match (
        bytes_of(first),
        bytes.and_then(|bytes| usize::try_from(bytes).ok()),
    ) {
        (Some(start), Some(bytes)) => Ok((memref.data.wrapping_offset(start).cast(), bytes)),
        _ => Err("a memref has sizes and strides that no memory has room for".into()),
    }
}

fn list(numbers: &[i64]) -> String {
    numbers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Memref<'_> {
    /// The first line of what is printed, without an end.
    fn shape(&self) -> String {
        let Self {
            data,
            offset,
            sizes,
            strides,
        } = self;
        // As a C++ stream prints it, which has no prefix for zero.
        let address = if data.is_null() {
            "0".to_owned()
        } else {
            format!("{data:p}")
        };
        format!(
            "Unranked Memref base@ = {address} rank = {} offset = {offset} sizes = [{}] strides = [{}]",
            sizes.len(),
            list(sizes),
            list(strides)
        )
    }

    /// Appends the elements from dimension `dim` on, the first being number `offset`.
    ///
    /// # Safety
    ///
    /// The memref has elements of type `T`.
    unsafe fn elements<T: Element>(&self, dim: usize, offset: i64, text: &mut String) {
        if dim == self.sizes.len() {
            let element = self.data.cast::<T>().wrapping_offset(offset as isize);
            // SAFETY: as the caller promises.
            text.push_str(&unsafe { element.read_unaligned() }.text());
            return;
        }
        text.push('[');
        let size = self.sizes[dim];
        // MLIR prints the first element of an empty memref, which is not there.
        for i in 0..size {
            if i > 0 {
                text.push_str(", ");
                if dim + 1 < self.sizes.len() {
                    text.push('\n');
                }
                let _ = write!(text, "{:1$}", "", dim + 1);
            }
            // SAFETY: as the caller promises.
            unsafe { self.elements::<T>(dim + 1, offset + i * self.strides[dim], text) };
        }
        text.push(']');
    }
}

unsafe fn print_memref<T: Element>(memref: &Unranked) {
    // SAFETY: it is a memref of elements of type `T`.
    unsafe {
        let memref = memref.read();
        let mut text = format!("{} data = \n", memref.shape());
        if memref.sizes.is_empty() {
            text.push('[');
        }
        memref.elements::<T>(0, memref.offset, &mut text);
        if memref.sizes.is_empty() {
            text.push(']');
        }
        text.push('\n');
        print(&text);
        libc::fflush(stdout);
    }
}

/// Printing functions of a type: with the C interface that `llvm.emit_c_interface` asks for, and without.
macro_rules! print_memref {
    ($($type:ty: $interface:ident $($plain:ident)?;)*) => {
        $(#[unsafe(no_mangle)]
        pub unsafe extern "C" fn $interface(memref: *const Unranked) {
            // SAFETY: the caller passes such a memref.
            unsafe { print_memref::<$type>(&*memref) };
        }

        $(#[unsafe(no_mangle)]
        pub unsafe extern "C" fn $plain(rank: i64, descriptor: *const c_void) {
            // SAFETY: the caller passes such a memref.
            unsafe { print_memref::<$type>(&Unranked { rank, descriptor }) };
        })?)*
    };
}

print_memref! {
    i8: _mlir_ciface_printMemrefI8;
    i16: _mlir_ciface_printMemrefI16;
    i32: _mlir_ciface_printMemrefI32 printMemrefI32;
    i64: _mlir_ciface_printMemrefI64 printMemrefI64;
    Half: _mlir_ciface_printMemrefF16;
    BFloat: _mlir_ciface_printMemrefBF16;
    f32: _mlir_ciface_printMemrefF32 printMemrefF32;
    f64: _mlir_ciface_printMemrefF64 printMemrefF64;
    u64: _mlir_ciface_printMemrefInd printMemrefInd;
    [f32; 2]: _mlir_ciface_printMemrefC32 printMemrefC32;
    [f64; 2]: _mlir_ciface_printMemrefC64 printMemrefC64;
}

/// Copies a memref of any layout to one of the same sizes; elements have `element` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memrefCopy(element: i64, source: *const Unranked, destination: *const Unranked) {
    // SAFETY: the caller passes such memrefs.
    unsafe {
        let (source, destination) = ((*source).read(), (*destination).read());
        copy(
            element,
            &source,
            &destination,
            0,
            source.offset,
            destination.offset,
        );
    }
}

/// Copies the elements from dimension `dim` on, the first being number `from` of `source`.
unsafe fn copy(element: i64, source: &Memref, destination: &Memref, dim: usize, from: i64, to: i64) {
    let rest = dim..source.sizes.len();
    let sizes = &source.sizes[rest.clone()];
    let contiguous = |memref: &Memref| {
        let mut expected = 1;
        let mut dims = sizes.iter().zip(&memref.strides[rest.clone()]).rev();
        dims.all(|(&size, &stride)| {
            let fits = size == 1 || stride == expected;
            expected *= size;
            fits
        })
    };
    if sizes.contains(&0) {
        return;
    }
    if contiguous(source) && contiguous(destination) {
        let bytes = element * sizes.iter().product::<i64>();
        // SAFETY: these elements are there, one after another; both may be the same memref.
        unsafe {
            ptr::copy(
                source.data.offset((from * element) as isize),
                destination.data.offset((to * element) as isize),
                bytes.unsigned_abs() as usize,
            );
        }
        return;
    }
    for i in 0..sizes[0] {
        let (from, to) = (from + i * source.strides[dim], to + i * destination.strides[dim]);
        // SAFETY: as for this function.
        unsafe { copy(element, source, destination, dim + 1, from, to) };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn printI64(value: i64) {
    print(&value.to_string());
}

#[unsafe(no_mangle)]
pub extern "C" fn printU64(value: u64) {
    print(&value.to_string());
}

#[unsafe(no_mangle)]
pub extern "C" fn printF16(bits: u16) {
    print(&Half(bits).text());
}

#[unsafe(no_mangle)]
pub extern "C" fn printBF16(bits: u16) {
    print(&BFloat(bits).text());
}

#[unsafe(no_mangle)]
pub extern "C" fn printF32(value: f32) {
    print(&general(value.into()));
}

#[unsafe(no_mangle)]
pub extern "C" fn printF64(value: f64) {
    print(&general(value));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn printString(text: *const c_char) {
    // SAFETY: the caller passes a string.
    unsafe { libc::fputs(text, stdout) };
}

#[unsafe(no_mangle)]
pub extern "C" fn printOpen() {
    print("( ");
}

#[unsafe(no_mangle)]
pub extern "C" fn printClose() {
    print(" )");
}

#[unsafe(no_mangle)]
pub extern "C" fn printComma() {
    print(", ");
}

#[unsafe(no_mangle)]
pub extern "C" fn printNewline() {
    print("\n");
}

/// Seconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn rtclock() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64())
}

/// Nanoseconds of a clock that only goes forward.
#[unsafe(no_mangle)]
pub extern "C" fn _mlir_ciface_nanoTime() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it is a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
