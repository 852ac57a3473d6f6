//! `gpu.printf`.
//!
//! **Refusals.** Widths that are operands, `%s`, `%p`, `%n` and `%a`; a number of another kind than its specification takes;
//! more or fewer operands than specifications.

use super::{Done, Reader, Unknown};
use crate::code::{Op as Instruction, Piece, Spec};
use async_mlir::ir::Op;
use async_mlir::names::attr;
use std::iter::Peekable;
use std::str::Chars;

/// More than a line has.
const MOST_DIGITS: usize = 1000;

impl<'c> Reader<'c> {
    pub(super) fn print(&mut self, op: Op<'c>) -> Done<'c> {
        let format = op.str_attr(attr::FORMAT).unwrap_or_default();
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut operands = op.operands().enumerate();
        let mut rest = format.chars().peekable();
        while let Some(next) = rest.next() {
            if next != '%' {
                text.push(next);
                continue;
            }
            if rest.next_if_eq(&'%').is_some() {
                text.push('%');
                continue;
            }
            let spec = spec(&mut rest).map_err(|message| Unknown::new(op, message))?;
            let Some((number, operand)) = operands.next() else {
                return Err(Unknown::new(op, "the format takes more operands than there are"));
            };
            let elem = Self::elem(op, operand.ty())?;
            if !spec.takes(elem) {
                let message = format!(
                    "'%{}' does not print operand {number}, of type {}",
                    spec.conversion,
                    operand.ty()
                );
                return Err(Unknown::new(op, message));
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            let value = self.reg(operand);
            pieces.push(Piece::Number { value, elem, spec });
        }
        if operands.next().is_some() {
            return Err(Unknown::new(op, "the format takes fewer operands than there are"));
        }
        pieces.push(Piece::Text(text));
        self.emit(op, Instruction::Print(pieces.into()));
        Ok(())
    }
}

/// Reads what comes after a `%`.
fn spec(rest: &mut Peekable<Chars<'_>>) -> Result<Spec, String> {
    let mut spec = Spec::default();
    while let Some(flag) = rest.next_if(|&next| "-+ 0#".contains(next)) {
        match flag {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '0' => spec.zeros = true,
            _ => spec.alternate = true,
        }
    }
    spec.width = digits(rest)?;
    if rest.next_if_eq(&'.').is_some() {
        spec.precision = Some(digits(rest)?);
    }
    // The type of the operand says how long it is.
    while rest.next_if(|&next| "hljzt".contains(next)).is_some() {}
    spec.conversion = match rest.next() {
        Some('i') => 'd',
        Some(known @ ('d' | 'u' | 'x' | 'X' | 'o' | 'c' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G')) => known,
        Some(other) => return Err(format!("the interpreter does not know '%{other}'")),
        None => return Err("the format ends within a specification".into()),
    };
    Ok(spec)
}

/// A number in decimal; 0 if there is none.
fn digits(rest: &mut Peekable<Chars<'_>>) -> Result<usize, String> {
    let mut number = 0;
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        number = 10 * number + digit.to_digit(10).unwrap_or(0) as usize;
        if number > MOST_DIGITS {
            return Err(format!(
                "the interpreter prints numbers of at most {MOST_DIGITS} digits"
            ));
        }
    }
    Ok(number)
}
