//! Diagnostics: errors, warnings and remarks for the author of the IR, with notes.

use crate::{ffi, ir::Op};
use melior::ir::Location;
use mlir_sys::{
    MlirDiagnosticSeverity, MlirDiagnosticSeverity_MlirDiagnosticError,
    MlirDiagnosticSeverity_MlirDiagnosticRemark, MlirDiagnosticSeverity_MlirDiagnosticWarning, MlirLocation,
    MlirOperation,
};

/// What a diagnostic is about.
#[derive(Clone, Copy, Debug)]
pub enum Place<'c> {
    /// An operation: it can be printed along with the message.
    Op(Op<'c>),
    /// A location alone.
    Location(Location<'c>),
}

impl<'c> From<Op<'c>> for Place<'c> {
    fn from(op: Op<'c>) -> Self {
        Self::Op(op)
    }
}

impl<'c> From<Location<'c>> for Place<'c> {
    fn from(location: Location<'c>) -> Self {
        Self::Location(location)
    }
}

impl<'c> Place<'c> {
    fn location(self) -> Location<'c> {
        match self {
            Self::Op(op) => op.location(),
            Self::Location(location) => location,
        }
    }
}

fn raw_location(location: Location<'_>) -> MlirLocation {
    MlirLocation {
        ptr: location.to_raw().ptr,
    }
}

/// A diagnostic that is not emitted yet.
#[derive(Debug)]
#[must_use = "a diagnostic is seen only once it is emitted"]
pub struct Diagnostic<'c> {
    severity: MlirDiagnosticSeverity,
    place: Place<'c>,
    message: String,
    notes: Vec<(Location<'c>, String)>,
}

impl<'c> Diagnostic<'c> {
    fn new(
        severity: MlirDiagnosticSeverity,
        place: impl Into<Place<'c>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            place: place.into(),
            message: message.into(),
            notes: Vec::new(),
        }
    }

    /// An error. In a pass, return a [`PassError`](crate::pass::PassError) instead, so that the pass fails.
    pub fn error(place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        Self::new(MlirDiagnosticSeverity_MlirDiagnosticError, place, message)
    }

    /// A warning.
    pub fn warning(place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        Self::new(MlirDiagnosticSeverity_MlirDiagnosticWarning, place, message)
    }

    /// A remark. The operation is not printed along with it: that takes a walk through its function, and there may be many.
    pub fn remark(place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        let location = place.into().location();
        Self::new(MlirDiagnosticSeverity_MlirDiagnosticRemark, location, message)
    }

    /// Attaches a note.
    pub fn note(mut self, place: impl Into<Place<'c>>, message: impl Into<String>) -> Self {
        self.notes.push((place.into().location(), message.into()));
        self
    }

    /// Attaches what another diagnostic says, as notes.
    pub fn because(mut self, other: Self) -> Self {
        let other = other.at_location();
        self.notes.push((other.place.location(), other.message));
        self.notes.extend(other.notes);
        self
    }

    /// The same without a handle to an operation, which may be erased then.
    pub fn at_location(mut self) -> Self {
        if let Place::Op(op) = self.place {
            self.message = format!("'{}' op {}", op.name(), self.message);
            self.place = Place::Location(op.location());
        }
        self
    }

    /// The notes for C, which live as long as this does.
    fn raw_notes(&self) -> Vec<ffi::AsyncOptNote> {
        self.notes
            .iter()
            .map(|(location, message)| ffi::AsyncOptNote {
                location: raw_location(*location),
                message: ffi::string_ref(message),
            })
            .collect()
    }

    /// Gives the diagnostic to a transform, which fails by it unless its script goes on.
    pub(crate) fn refuse(self, reply: ffi::AsyncOptTransformReply) {
        let notes = self.raw_notes();
        let op = match self.place {
            Place::Op(op) => op.to_raw(),
            Place::Location(_) => MlirOperation {
                ptr: std::ptr::null_mut(),
            },
        };
        // SAFETY: the reply to a transform that is applied, a live operation or none, and strings that live during the call.
        unsafe {
            ffi::asyncOptTransformRefuse(
                reply,
                op,
                raw_location(self.place.location()),
                ffi::string_ref(&self.message),
                notes.as_ptr(),
                notes.len().cast_signed(),
            );
        }
    }

    /// Emits the diagnostic.
    pub fn emit(self) {
        let notes = self.raw_notes();
        let (message, length) = (ffi::string_ref(&self.message), notes.len().cast_signed());
        // SAFETY: a live operation or location, and strings and notes that live during the call.
        unsafe {
            match self.place {
                Place::Op(op) => {
                    ffi::asyncOptEmitAtOperation(op.to_raw(), self.severity, message, notes.as_ptr(), length);
                }
                Place::Location(location) => {
                    ffi::asyncOptEmitAtLocation(
                        location.to_raw(),
                        self.severity,
                        message,
                        notes.as_ptr(),
                        length,
                    );
                }
            }
        }
    }
}
