//! What a kernel is called with.

use crate::code::{Param, ParamKind};
use crate::memory::{Contents, Memory, Space};
use crate::scalar::{from_f64, to_f64};
use crate::value::{BufferId, Elem, Tensor, Value, View, row_by_row};
use std::sync::Arc;
use thiserror::Error;

/// How a buffer is filled.
#[derive(Clone, PartialEq, Debug)]
pub enum Fill {
    /// Small numbers at random: eighths from -1 to 1, or integers from -8 to 8.
    Random,
    /// 0, 1, 2, …, such that any two elements differ as far as there are numbers of the type: integers that it does not have
    /// are left out, and after the last one come negative ones and fractions.
    Ramp,
    /// Zeros.
    Zero,
    /// What is in a file.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// The type of the numbers, as NumPy calls it.
        kind: String,
    },
}

/// An argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// An integer.
    Integer(i128),
    /// A number.
    Number(f64),
    /// A buffer.
    Buffer {
        /// Its sizes; those of the type where this is empty.
        sizes: Vec<i64>,
        /// What is in it.
        fill: Fill,
    },
    /// The buffer of another argument, given before or after.
    Shared {
        /// Its sizes; those of the type where this is empty, or of the other argument.
        sizes: Vec<i64>,
        /// Which argument.
        of: usize,
    },
}

/// An argument that does not fit its parameter.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("argument {index}: {message}")]
pub struct Mismatch {
    /// Which.
    pub index: usize,
    /// Why.
    pub message: String,
}

/// Where the buffers of the parameters begin: rows of this many bytes are what an allocation aligns to.
const ALIGN: u32 = 256;
/// The same for workgroup memory: what a swizzle of 128 bytes repeats after.
const WORKGROUP_ALIGN: u32 = 1024;

/// Makes the values of parameters, and their buffers.
///
/// # Errors
///
/// Where an argument does not fit.
pub fn arguments(
    memory: &mut Memory,
    params: &[Param],
    given: &[Option<Argument>],
    seed: u64,
) -> Result<Vec<Value>, Mismatch> {
    let given = |index: usize| given.get(index).and_then(Option::as_ref);
    let fails = |index: usize| move |message: String| Mismatch { index, message };
    let mut values = vec![Value::Poison; params.len()];
    for (index, param) in params.iter().enumerate() {
        if !matches!(given(index), Some(Argument::Shared { .. })) {
            values[index] = argument(memory, (index, seed), param, given(index)).map_err(fails(index))?;
        }
    }
    // These look at what is there now.
    for (index, param) in params.iter().enumerate() {
        if let Some(Argument::Shared { sizes, of }) = given(index)
            && param.kind != ParamKind::Unused
        {
            let owner = match values.get(*of) {
                Some(Value::View(view)) => &**view,
                Some(Value::Tensor(tensor)) => &tensor.view,
                _ => {
                    let message = format!("argument {of} has no buffer of its own to share");
                    return Err(Mismatch { index, message });
                }
            };
            values[index] = shared(memory, &param.kind, sizes, owner).map_err(fails(index))?;
        }
    }
    Ok(values)
}

/// A view of a buffer that is there. A tensor whose sizes are not given has those of the owner, if they can be.
fn shared(memory: &Memory, kind: &ParamKind, asked: &[i64], owner: &View) -> Result<Value, String> {
    let rank = match kind {
        ParamKind::Tensor(shape) => shape.sizes.len(),
        _ => 0,
    };
    let asked = if asked.is_empty() && owner.sizes.len() == rank {
        &owner.sizes
    } else {
        asked
    };
    let mut view = layout(kind, asked)?;
    let owner = owner.buffer;
    view.buffer = owner;
    let start = usize::try_from(view.element(view.offset).offset).unwrap_or(usize::MAX);
    let end = view.span_bytes().and_then(|bytes| start.checked_add(bytes));
    let has = memory.buffer(owner).data.len();
    if end.is_none_or(|end| end > has) {
        return Err(format!(
            "the buffer that it shares has {has} bytes, which is too few"
        ));
    }
    Ok(value_of(kind, view))
}

/// The parameters that nothing is given for and whose sizes their types leave open, each with an example of what may be given.
#[must_use]
pub fn open_sizes(params: &[Param], given: &[Option<Argument>]) -> Vec<(usize, String)> {
    let missing = params
        .iter()
        .enumerate()
        .filter(|(index, _)| given.get(*index).is_none_or(Option::is_none));
    let example = |(index, param): (usize, &Param)| match &param.kind {
        ParamKind::MemRef { sizes, elem, .. } if sizes.contains(&None) => {
            // Integers may be indices, of which 0 is always in bounds.
            let fill = match elem {
                Elem::Int(32..) => "zero",
                _ => "random",
            };
            Some((index, format!("{}:{fill}", example_sizes(sizes))))
        }
        _ => None,
    };
    missing.filter_map(example).collect()
}

fn value_of(kind: &ParamKind, view: View) -> Value {
    match kind {
        ParamKind::Tensor(shape) => Value::Tensor(Arc::new(Tensor {
            view,
            shape: Arc::clone(shape),
        })),
        _ => Value::View(Arc::new(view)),
    }
}

fn argument(
    memory: &mut Memory,
    (index, seed): (usize, u64),
    param: &Param,
    given: Option<&Argument>,
) -> Result<Value, String> {
    match (&param.kind, given) {
        (ParamKind::Unused, _) => Ok(Value::Poison),
        (ParamKind::Number(elem), given) => value(*elem, given),
        (kind, None) => {
            // A kernel finds nothing in memory of the workgroup.
            let workgroup = matches!(kind, ParamKind::MemRef { workgroup: true, .. });
            let fill = (!workgroup).then_some(&Fill::Random);
            buffer(memory, (index, seed), kind, (&[], fill))
        }
        (kind, Some(Argument::Buffer { sizes, fill })) => {
            buffer(memory, (index, seed), kind, (sizes, Some(fill)))
        }
        (_, Some(Argument::Number(_) | Argument::Integer(_) | Argument::Shared { .. })) => {
            Err("the parameter is a buffer".into())
        }
    }
}

fn value(elem: Elem, given: Option<&Argument>) -> Result<Value, String> {
    match (elem, given) {
        // An index of 0 is aligned to everything.
        (Elem::Int(_), None) => Ok(Value::Bits(0)),
        (_, None) => Ok(Value::Bits(number(elem, 1.0))),
        (Elem::Int(width), Some(Argument::Integer(value))) => integer(width, *value),
        (Elem::Int(_), Some(Argument::Number(value))) => {
            Err(format!("the parameter is an integer, and {value} is none"))
        }
        #[allow(clippy::cast_precision_loss)] // Rounded to the type.
        (_, Some(Argument::Integer(value))) => Ok(Value::Bits(number(elem, *value as f64))),
        (_, Some(Argument::Number(value))) => Ok(Value::Bits(number(elem, *value))),
        (_, Some(Argument::Buffer { .. } | Argument::Shared { .. })) => {
            Err("the parameter is a number".into())
        }
    }
}

/// What a parameter shows of its buffer; those who call this say which that is.
fn layout(kind: &ParamKind, asked: &[i64]) -> Result<View, String> {
    let view = |sizes: Vec<i64>, strides: Option<&Vec<i64>>, offset, elem, lanes| View {
        buffer: BufferId(0),
        base: 0,
        offset,
        strides: strides.cloned().unwrap_or_else(|| row_by_row(&sizes)),
        sizes,
        elem,
        lanes,
    };
    let view = match kind {
        ParamKind::Number(_) => return Err("the parameter is a number".into()),
        ParamKind::Unused => return Err("nothing uses the parameter".into()),
        ParamKind::MemRef {
            sizes,
            strides,
            offset,
            elem,
            lanes,
            ..
        } => view(fit(sizes, asked)?, strides.as_ref(), *offset, *elem, *lanes),
        // The type says what a box is; nothing given, the tensor is one.
        ParamKind::Tensor(shape) if asked.is_empty() => view(shape.sizes.clone(), None, 0, shape.elem, 1),
        ParamKind::Tensor(shape) => {
            let open = vec![None; shape.sizes.len()];
            view(fit(&open, asked)?, None, 0, shape.elem, 1)
        }
    };
    if matches!(kind, ParamKind::Tensor(_))
        && let Some((dim, bytes)) = view.odd_pitch()
    {
        return Err(format!(
            "the stride of dimension {dim} of the tensor is {bytes} bytes, and cuTensorMapEncodeTiled takes multiples of 16 only"
        ));
    }
    Ok(view)
}

fn buffer(
    memory: &mut Memory,
    (index, seed): (usize, u64),
    kind: &ParamKind,
    (asked, fill): (&[i64], Option<&Fill>),
) -> Result<Value, String> {
    let mut view = layout(kind, asked)?;
    let workgroup = matches!(kind, ParamKind::MemRef { workgroup: true, .. });
    if view.strides.iter().any(|&stride| stride < 0) || view.offset < 0 {
        return Err("the interpreter makes up no buffers that are laid out backwards".into());
    }
    let before = usize::try_from(view.offset).unwrap_or(0) * usize::try_from(view.elem_bytes()).unwrap_or(0);
    let span = view.span_bytes().map(|bytes| bytes.saturating_add(before));
    let span = span.filter(|bytes| memory.has_room(*bytes));
    let span = span.ok_or("no buffers are that large here")?;
    let space = if workgroup {
        Space::Workgroup
    } else {
        Space::Global
    };
    let (name, array) = (format!("argument {index}"), view.array());
    let contents = match fill {
        None => Contents::Unwritten(span),
        Some(Fill::Bytes { bytes, kind }) => Contents::Bytes(spread(&view, span, bytes, kind)?),
        Some(fill) => Contents::Bytes(made_up(
            view.elem,
            span / view.elem.bytes(),
            fill,
            seed.wrapping_add(index as u64),
        )),
    };
    // Tiles of workgroup memory are swizzled by their addresses.
    let align = if workgroup { WORKGROUP_ALIGN } else { ALIGN };
    view.buffer = memory.add(name, space, align, contents, array);
    Ok(value_of(kind, view))
}

/// The sizes of a type as they are written in an argument, with some number for those that it leaves open.
fn example_sizes(sizes: &[Option<i64>]) -> String {
    let sizes = sizes.iter().map(|size| size.unwrap_or(64).to_string());
    sizes.collect::<Vec<String>>().join("x")
}

/// The sizes of a buffer: those asked for must agree with those of the type.
fn fit(sizes: &[Option<i64>], asked: &[i64]) -> Result<Vec<i64>, String> {
    if asked.is_empty() {
        let known: Option<Vec<i64>> = sizes.iter().copied().collect();
        return known.ok_or_else(|| {
            format!(
                "the type leaves sizes open: give all of them, and what the buffer holds, as in {}:random",
                example_sizes(sizes)
            )
        });
    }
    if asked.len() != sizes.len() {
        return Err(format!(
            "{} sizes are given, and there are {}",
            asked.len(),
            sizes.len()
        ));
    }
    for (size, asked) in sizes.iter().zip(asked) {
        if size.is_some_and(|size| size != *asked) || *asked < 0 {
            return Err(format!("size {asked} is not what the type says"));
        }
    }
    Ok(asked.to_vec())
}

/// The bits of an integer that fits `width` bits, with a sign or without.
fn integer(width: u8, value: i128) -> Result<Value, String> {
    let bits = u32::from(width);
    if value >= 1 << bits || value < -(1 << (bits - 1)) {
        return Err(format!("{value} has more than {width} bits"));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The bits are all there are.
    Ok(Value::Bits(Elem::Int(width).wrap(value as u64)))
}

fn number(elem: Elem, value: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation)] // An integer was asked for.
    match elem {
        Elem::Int(_) => elem.wrap((value as i64).cast_unsigned()),
        _ => from_f64(elem, value),
    }
}

/// The elements of a file, put where the view has them; what lies between is zero.
fn spread(view: &View, span: usize, bytes: &[u8], kind: &str) -> Result<Vec<u8>, String> {
    let kinds = view.elem.npy_kinds();
    if !kinds.contains(&kind) {
        let kinds = kinds.join(" or ");
        return Err(format!(
            "the file has numbers of type {kind}, and this takes {kinds}"
        ));
    }
    let expected: usize = view.elements().map(|element| element.len()).sum();
    if bytes.len() != expected {
        return Err(format!(
            "the file has {} bytes of numbers and not {expected}",
            bytes.len()
        ));
    }
    let mut data = vec![0; span];
    let mut rest = bytes;
    for element in view.elements() {
        let (number, after) = rest.split_at(element.len());
        data[element].copy_from_slice(number);
        rest = after;
    }
    Ok(data)
}

/// So many numbers that are made up.
fn made_up(elem: Elem, numbers: usize, fill: &Fill, seed: u64) -> Vec<u8> {
    let size = elem.bytes();
    let mut out = Vec::with_capacity(numbers * size);
    let mut state = seed;
    let ramp = if *fill == Fill::Ramp {
        small_floats(elem)
    } else {
        Vec::new()
    };
    for i in 0..numbers {
        if let Some(bits) = ramp.get(i % ramp.len().max(1)) {
            out.extend_from_slice(&bits.to_le_bytes()[..size]);
            continue;
        }
        #[allow(clippy::cast_precision_loss)] // Small.
        let value = match fill {
            Fill::Zero | Fill::Bytes { .. } => 0.0,
            Fill::Ramp if elem == Elem::F32 => nth_single(i),
            Fill::Ramp => i as f64,
            // There are no negative ones.
            Fill::Random if elem == Elem::F8E8M0FNU => {
                ((crate::adversary::next_random(&mut state) % 5) as f64 - 2.0).exp2()
            }
            // Eighths in -1 to 1: sums of their products are exact, so that no order of addition shows.
            Fill::Random => (crate::adversary::next_random(&mut state) % 17) as f64 / 8.0 - 1.0,
        };
        let value = if elem.is_float() || !matches!(fill, Fill::Random) {
            value
        } else {
            (value * 8.0).round()
        };
        out.extend_from_slice(&number(elem, value).to_le_bytes()[..size]);
    }
    out
}

/// Number `i` of the integers from 0 on that an f32 has.
fn nth_single(i: usize) -> f64 {
    const EXACT: usize = 1 << 24;
    let i = match i.checked_sub(EXACT) {
        None => i,
        // From there on each power of two has 2²³ of them.
        Some(rest) => (EXACT / 2 + rest % (EXACT / 2)) << (rest / (EXACT / 2) + 1),
    };
    #[allow(clippy::cast_precision_loss)] // 24 bits are not zero.
    {
        i as f64
    }
}

/// All finite numbers of a floating-point type of 16 bits or fewer, as bits: 0, 1, 2, …, then -1, -2, …, then fractions. Nothing for
/// other types, which have more integers than a buffer has elements.
fn small_floats(elem: Elem) -> Vec<u64> {
    if !elem.is_float() || elem.bytes() > 2 {
        return Vec::new();
    }
    let finite = (0..1_u64 << elem.bits()).filter(|&bits| to_f64(elem, bits).is_finite());
    // There are two zeros.
    let negative_zero = (-0.0_f64).to_bits();
    let mut all: Vec<u64> = finite
        .filter(|&bits| to_f64(elem, bits).to_bits() != negative_zero)
        .collect();
    all.sort_by(|&a, &b| {
        let (a, b) = (to_f64(elem, a), to_f64(elem, b));
        let rank = |x: f64| (x.fract() != 0.0, x.is_sign_negative());
        rank(a).cmp(&rank(b)).then(a.abs().total_cmp(&b.abs()))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn ramp(elem: Elem, numbers: usize) -> Vec<u64> {
        let bytes = made_up(elem, numbers, &Fill::Ramp, 0);
        bytes
            .chunks_exact(elem.bytes())
            .map(|number| elem.from_bytes(number))
            .collect()
    }

    #[test]
    fn ramps_count_from_zero() {
        for elem in [
            Elem::Int(8),
            Elem::Int(32),
            Elem::F16,
            Elem::BF16,
            Elem::F32,
            Elem::F64,
        ] {
            let numbers = ramp(elem, 100);
            for (i, &bits) in numbers.iter().enumerate() {
                let expected = number(elem, f64::from(u8::try_from(i).unwrap()));
                assert_eq!(bits, expected, "{elem:?}");
            }
        }
    }

    #[test]
    fn ramps_tell_elements_apart_as_far_as_the_type_can() {
        // Of the 2¹⁶ bit patterns, two exponents are of no finite numbers, and one is the other zero.
        let finite = |exponents: usize, mantissa: usize| 2 * (exponents - 1) * mantissa - 1;
        for (elem, different) in [
            (Elem::Int(8), 256),
            (Elem::F16, finite(32, 1 << 10)),
            (Elem::BF16, finite(256, 1 << 7)),
            (Elem::F32, 100_000),
            (Elem::F8E4M3FN, 253),
            (Elem::F8E5M2, finite(32, 1 << 2)),
            (Elem::F8E8M0FNU, 255),
            (Elem::F6E2M3FN, 63),
            (Elem::F4E2M1FN, 15),
        ] {
            let numbers: HashSet<u64> = ramp(elem, different).into_iter().collect();
            assert_eq!(numbers.len(), different, "{elem:?}");
        }
    }

    #[test]
    fn ramps_of_single_precision_leave_out_what_it_does_not_have() {
        // Above 2²⁴ every second one, and above 2²⁵ every fourth.
        let numbers = [0, 1, (1 << 23) + 1].map(|more| nth_single((1 << 24) + more));
        assert_eq!(numbers.to_vec(), [16_777_216.0, 16_777_218.0, 33_554_436.0]);
    }
}
