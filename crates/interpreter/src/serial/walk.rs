//! Walks through code by the names of its types: a serializer that writes nothing.
//!
//! So what is checked of a register is checked of each, also of those in instructions that are yet to come.

use serde::ser::{self, Serialize};
use std::fmt;

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A register.
    Reg(u32),
    /// A place in the code.
    Label(u32),
    /// A queue.
    Queue(u32),
    /// A copy, of which code that has not run has none.
    Copy,
    /// The bits of an integer.
    Width(u32),
}

/// Calls a function with all that is looked at.
pub struct Walk<F> {
    each: F,
    /// What the next number is.
    next: fn(u32) -> Option<Seen>,
}

/// What the function has said.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Done = Result<(), Refused>;

/// Walks through `what`.
///
/// # Errors
///
/// What `each` has said first.
pub fn walk<T: Serialize>(what: &T, each: impl FnMut(Seen) -> Result<(), String>) -> Done {
    what.serialize(&mut Walk { each, next: |_| None })
}

impl<F: FnMut(Seen) -> Result<(), String>> Walk<F> {
    fn number(&mut self, number: u32) -> Done {
        let next = std::mem::replace(&mut self.next, |_| None);
        match next(number) {
            Some(seen) => (self.each)(seen).map_err(Refused),
            None => Ok(()),
        }
    }
}

macro_rules! ignored {
    ($($name:ident: $ty:ty),*) => { $(fn $name(self, _: $ty) -> Done { Ok(()) })* };
}

impl<F: FnMut(Seen) -> Result<(), String>> ser::Serializer for &mut Walk<F> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), Refused>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    ignored! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u16: u16, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    }

    fn serialize_u8(self, number: u8) -> Done {
        self.number(number.into())
    }

    fn serialize_u32(self, number: u32) -> Done {
        self.number(number)
    }

    fn serialize_none(self) -> Done {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Done {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        self.next = match name {
            "Reg" => |number| Some(Seen::Reg(number)),
            "Label" => |number| Some(Seen::Label(number)),
            "Queue" => |number| Some(Seen::Queue(number)),
            "CopyId" => |_| Some(Seen::Copy),
            _ => |_| None,
        };
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        if (name, variant) == ("Elem", "Int") {
            self.next = |bits| Some(Seen::Width(bits));
        }
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Refused> {
        Err(Refused("code has no maps".into()))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self)
    }
}

macro_rules! elements {
    ($($of:ident, $one:ident ($($key:ty)?);)*) => { $(
        impl<F: FnMut(Seen) -> Result<(), String>> ser::$of for &mut Walk<F> {
            type Ok = ();
            type Error = Refused;

            fn $one<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Done {
                value.serialize(&mut **self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        }
    )* };
}

elements! {
    SerializeSeq, serialize_element ();
    SerializeTuple, serialize_element ();
    SerializeTupleStruct, serialize_field ();
    SerializeTupleVariant, serialize_field ();
    SerializeStruct, serialize_field (&'static str);
    SerializeStructVariant, serialize_field (&'static str);
}
