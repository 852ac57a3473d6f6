//! What host code prints, as MLIR's runner libraries do.

use super::{Machine, Reason, pointers};
use crate::code::{HostPrint, Reg, Spec};
use crate::scalar::signed;
use crate::value::Elem;

impl Machine<'_> {
    pub(super) fn host_text(&mut self, t: usize, print: &HostPrint) -> Result<String, Reason> {
        Ok(match print {
            HostPrint::Text(text) => text.clone(),
            HostPrint::Number {
                value,
                elem,
                unsigned,
            } => number(*elem, self.bits(t, *value)?, *unsigned),
            HostPrint::Vector {
                value,
                elem,
                unsigned,
                sizes,
            } => {
                let numbers = self.numbers(t, *value)?;
                let mut texts = numbers.iter().map(|bits| number(*elem, *bits, *unsigned));
                let mut text = String::new();
                // A vector without dimensions is in parentheses, too.
                let sizes = if sizes.is_empty() { &[1] } else { &sizes[..] };
                nested(sizes, ["( ", ", ", " )"], &mut text, &mut |text| {
                    *text += &texts.next().unwrap_or_default();
                });
                text
            }
            HostPrint::MemRef { view, unsigned } => self.memref_text(t, *view, *unsigned)?,
        })
    }

    /// What `printMemrefF32` and its kin print.
    fn memref_text(&mut self, t: usize, view: Reg, unsigned: bool) -> Result<String, Reason> {
        let (view, actor) = (self.view(t, view)?, self.actor(t));
        let list = |numbers: &[i64]| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            numbers.join(", ")
        };
        let address = self.memory.address(view.element(0)).unwrap_or(0);
        let mut text = format!(
            "Unranked Memref base@ = {address:#x} rank = {} offset = {} sizes = [{}] strides = [{}] data = \n",
            view.sizes.len(),
            view.offset,
            list(&view.sizes),
            list(&view.strides)
        );
        let mut texts = Vec::new();
        for at in pointers(&view) {
            let bytes = self.memory.read(actor, at, view.elem.bytes(), 1)?;
            texts.push(number(view.elem, view.elem.from_bytes(bytes), unsigned));
        }
        let mut texts = texts.into_iter();
        rows(&view.sizes, 0, &mut text, &mut |text| {
            *text += &texts.next().unwrap_or_default();
        });
        text.push('\n');
        Ok(text)
    }
}

/// A number as MLIR's runner libraries print it.
fn number(elem: Elem, bits: u64, unsigned: bool) -> String {
    match elem {
        Elem::Int(width) if !unsigned => signed(width, bits).to_string(),
        Elem::Int(_) => bits.to_string(),
        _ => {
            let spec = Spec {
                conversion: 'g',
                ..Spec::default()
            };
            spec.format(elem, bits)
        }
    }
}

/// Elements in brackets, those of all dimensions but the last on lines of their own.
fn rows(sizes: &[i64], dim: usize, text: &mut String, element: &mut dyn FnMut(&mut String)) {
    let Some((&size, inner)) = sizes.split_first() else {
        if dim == 0 {
            text.push('[');
        }
        element(text);
        if dim == 0 {
            text.push(']');
        }
        return;
    };
    text.push('[');
    for i in 0..size {
        if i > 0 {
            text.push_str(", ");
            if !inner.is_empty() {
                text.push('\n');
            }
            text.push_str(&" ".repeat(dim + 1));
        }
        rows(inner, dim + 1, text, element);
    }
    text.push(']');
}

/// Elements in what opens, separates and closes each dimension.
fn nested(sizes: &[i64], marks: [&str; 3], text: &mut String, element: &mut dyn FnMut(&mut String)) {
    let Some((&size, inner)) = sizes.split_first() else {
        element(text);
        return;
    };
    let [open, comma, close] = marks;
    text.push_str(open);
    for i in 0..size {
        if i > 0 {
            text.push_str(comma);
        }
        nested(inner, marks, text, element);
    }
    text.push_str(close);
}
