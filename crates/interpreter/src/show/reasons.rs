//! Words for what ends a run.

use super::{Cause, Finding, Names};
use crate::code::MOST_TASKS;
use crate::machine::{Reason, Stop};
use crate::memory::{Buffer, Fault};
use crate::report::Spot;

impl Names<'_> {
    /// Why a run ended early.
    #[must_use]
    pub fn stop(&self, stop: &Stop) -> Finding {
        let (kind, message) = self.reason(&stop.reason);
        let advice = advice(kind);
        let (cause, advice) = if stop.after_misread {
            let first = "first see to what is read too early, or was never written: this may follow from it";
            let advice = if advice.is_empty() {
                first.into()
            } else {
                format!("{first}. Else {advice}")
            };
            (Cause::StopAfterMisread, advice)
        } else {
            (Cause::Stop, advice.into())
        };
        Finding {
            kind,
            cause,
            note: false,
            rank: 0,
            message,
            advice,
            at: self.instance(stop.spot),
            against: self.freed_at(&stop.reason).map(|spot| self.instance(spot)),
            on: None,
            last_wait: None,
            follows_phases: false,
            of_barriers: false,
        }
    }

    /// Where a buffer was freed that is accessed after that.
    fn freed_at(&self, reason: &Reason) -> Option<Spot> {
        match reason {
            Reason::Fault(Fault::Freed { buffer }) => self.buffer(*buffer).freed_at,
            _ => None,
        }
    }

    /// The kind of a finding, and its message.
    pub(super) fn reason(&self, reason: &Reason) -> (&'static str, String) {
        match reason {
            Reason::Fault(fault) => self.fault(fault),
            Reason::Scalar(error) => ("undefined", error.to_string()),
            Reason::Poison => ("undefined", "an operand holds no value on this path".into()),
            Reason::Operand(what) => ("undefined", format!("an operand is not {what}")),
            Reason::Budget => {
                let message = "the thread has run longer than its budget allows; does it end?";
                ("endless", message.into())
            }
            Reason::Step => ("undefined", "the step of the loop is not positive".into()),
            Reason::Assert(message) => ("assertion", format!("the assertion failed: {message}")),
            Reason::Size { bytes, of } => {
                let message = format!("{bytes} bytes can't be copied, only multiples of {of}");
                ("bad-count", message)
            }
            Reason::Count { read, written } => {
                let message =
                    format!("is to read {read} of the {written} that it writes; 0 to {written} can be");
                ("bad-count", message)
            }
            Reason::Mismatch { dim, size, expected } => {
                let message =
                    format!("dimension {dim} of the memref has size {size}, and its type says {expected}");
                ("mismatch", message)
            }
            Reason::Pitch { dim, bytes } => {
                let message = format!(
                    "the stride of dimension {dim} of the tensor is {bytes} bytes, and a tensor map takes multiples of 16 only"
                );
                ("misaligned", message)
            }
            Reason::Pending(_) | Reason::Stuck => ("undefined", "tasks wait for each other".into()),
            Reason::Tasks => {
                let message = format!("more than {MOST_TASKS} tasks can't be told apart");
                ("too-many", message)
            }
            Reason::Launch(_) | Reason::Kernel | Reason::Transfer { .. } => program_reason(reason),
            Reason::Room => {
                let message = "there is no room for a buffer of this size: all of them have 1 GiB";
                ("too-large", message.into())
            }
            Reason::NotInMask => (
                "divergent-warp",
                "the thread is not in the mask that it waits with".into(),
            ),
            Reason::OtherMask => {
                let message = "threads of the warp wait for each other here with different masks";
                ("divergent-warp", message.into())
            }
            Reason::OtherPlace => {
                let message =
                    "threads of the warp access one matrix together here, and name different places";
                ("divergent-warp", message.into())
            }
            Reason::OtherBarrier => {
                let message = "threads of the warp come here together, and name different barriers or numbers of threads";
                ("divergent-warp", message.into())
            }
            Reason::BarrierNumber(number) => {
                let message = format!("there is no barrier {number}: a block has barriers 0 to 15");
                ("undefined", message)
            }
            Reason::BarrierCount(count) => {
                let message =
                    format!("a barrier can't be of {count} threads, only of whole warps: a multiple of 32");
                ("undefined", message)
            }
            Reason::PartialWarp => {
                let message = "the warp is not complete, and all of its 32 threads have to take part";
                ("divergent-warp", message.into())
            }
            Reason::PartialWarpgroup => {
                let message = "the warpgroup is not complete, and all of its 128 threads have to take part";
                ("divergent-warpgroup", message.into())
            }
            Reason::Metadata {
                row,
                columns: [first, last],
                bits,
                help,
            } => {
                let message = format!(
                    "the metadata of row {row} of A, columns {first} to {last}, is {bits:#06b}, which means nothing: {help}"
                );
                ("bad-metadata", message)
            }
            Reason::Selector { selector, choices } => {
                let message = format!(
                    "the sparsity selector is {selector}, and has to be less than {choices} for this shape and type"
                );
                ("bad-metadata", message)
            }
            Reason::OtherSelector => {
                let message = "threads of the warp come here together, and name different sparsity selectors";
                ("divergent-warp", message.into())
            }
            Reason::Descriptor(message) => ("bad-descriptor", (*message).into()),
        }
    }

    fn fault(&self, fault: &Fault) -> (&'static str, String) {
        match *fault {
            Fault::Index {
                buffer,
                index,
                dim,
                size,
            } => {
                let name = &self.buffer(buffer).name;
                let message = format!(
                    "index {index} is out of bounds: dimension {dim} of this view of {name} has size {size}"
                );
                ("out-of-bounds", message)
            }
            Fault::Elsewhere { buffer } => {
                let name = &self.buffer(buffer).name;
                let message = if self.code.is_host {
                    format!("the host accesses {name}, which is memory of the device")
                } else {
                    format!("the kernel accesses {name}, which is pageable memory of the host")
                };
                ("elsewhere", message)
            }
            Fault::Freed { buffer } => {
                let message = format!("{} was deallocated before", self.buffer(buffer).name);
                ("use-after-free", message)
            }
            Fault::OutOfBounds {
                buffer,
                offset,
                bytes,
            } => {
                let buffer = self.buffer(buffer);
                let (name, size) = (&buffer.name, buffer.data.len());
                let hint = match name.as_str() {
                    "dynamic workgroup memory" => " (--dynamic-workgroup gives it more)",
                    _ => "",
                };
                let message = format!(
                    "{bytes} bytes from byte {offset} on are not inside of {name}, which has {size} bytes{hint}"
                );
                ("out-of-bounds", message)
            }
            Fault::Misaligned {
                buffer,
                offset,
                align,
            } => {
                let Buffer { name, align: has, .. } = self.buffer(buffer);
                let message = if align > *has as usize {
                    format!("{name} is aligned to {has} bytes, and the access needs {align}")
                } else {
                    format!("byte {offset} of {name} is no multiple of {align}, which the access needs")
                };
                ("misaligned", message)
            }
            Fault::Accesses => {
                let message = "more accesses were made so far than can be told apart";
                ("too-large", message.into())
            }
        }
    }
}

/// What ends host code of a program, or a kernel that it launches.
fn program_reason(reason: &Reason) -> (&'static str, String) {
    match reason {
        Reason::Launch(message) => ("bad-launch", message.clone()),
        Reason::Transfer { dim, size, expected } => {
            let message = format!(
                "dimension {dim} has size {expected} where data is transferred from, and {size} where it goes"
            );
            ("mismatch", message)
        }
        _ => ("stopped", "the kernel has stopped".into()),
    }
}

/// What to do about what ends a run.
pub(super) fn advice(kind: &str) -> &'static str {
    match kind {
        "out-of-bounds" => "let the access go only where the buffer is: guard it, or make the buffer larger",
        "misaligned" => "let offsets and strides be multiples of what is accessed, or align the buffer",
        "elsewhere" => {
            "transfer the data, or let both access it: with gpux.host_alloc, gpu.alloc host_shared or gpu.host_register"
        }
        "use-after-free" => "deallocate the buffer after its last access",
        "mismatch" => "let the type say what is true, or pass a buffer of the type's size",
        "bad-count" => "clamp the count to what the copy writes",
        "undefined" => "let the operation run only where its result is defined",
        "bad-descriptor" => "let the address and the fields of the descriptor say where the matrix lies",
        "bad-metadata" => {
            "let the lanes that the selector names have metadata that says which columns the numbers of A are in"
        }
        "divergent-warpgroup" => "launch a multiple of 128 threads",
        "divergent-warp" => "let all threads that take part come to it together",
        "endless" => "if it does end, run it in async-sim with a larger --budget",
        "too-many" => "run it with fewer tasks: regions, device operations and launches",
        "too-large" => "run it on smaller buffers, or fewer blocks",
        _ => "",
    }
}
