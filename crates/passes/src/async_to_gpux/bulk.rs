//! Emits a transfer as one copy of the block: `gpux.bulk_load`.

use super::copies::is_contiguous;
use super::read_motion::ReadMotion;
use super::reason::Reason;
use super::sides::Side;
use crate::analysis::addresses::{Address, Addresses, element_bytes};
use crate::analysis::alias::Root;
use crate::analysis::divisibility::log2_of;
use crate::utils::alignment::COPY_ALIGNMENT;
use async_dialects::names::gpux;
use async_dialects::types::token;
use async_mlir::ir::{Mapping, Op, OpBuilder, Value};

/// A contiguous transfer that the block does once.
#[derive(Clone, Debug)]
pub(super) struct Bulk<'c> {
    source: Side<'c>,
    destination: Side<'c>,
    bytes: i64,
}

/// What an mbarrier can count.
const MAX_BYTES: i64 = 1 << 20;

impl<'c> Bulk<'c> {
    /// Returns an error if the hardware can't do it, or not without a fence in the program. `function` is around it.
    pub fn new(
        [source, destination]: [Side<'c>; 2],
        function: Op<'c>,
        addresses: &mut Addresses<'c>,
        read_motion: &mut ReadMotion<'c>,
    ) -> Result<Self, Reason<'c>> {
        let mut bytes = 0;
        for (side, name) in [(&source, "source"), (&destination, "destination")] {
            if !is_contiguous(side) {
                let message = format!(
                    "has a {name} with gaps, which takes a tensor map descriptor, and only host code can make one"
                );
                return Err(Reason::new(message).help(
                    "make a descriptor by nvgpu.tma.create.descriptor where the kernel is launched, and write gpux.tma_load",
                ));
            }
            let Some(element) = element_bytes(side.memory) else {
                return Err(Reason::new("has elements that are no numbers of whole bytes"));
            };
            bytes = side.elements().unwrap_or(i64::MAX).saturating_mul(element);
            if bytes == 0 || bytes % COPY_ALIGNMENT != 0 || bytes >= MAX_BYTES {
                let message = format!(
                    "is of {bytes} bytes, but a bulk copy is of a multiple of 16, and less than 1 MiB"
                );
                return Err(Reason::new(message));
            }
            let log2 = addresses
                .of(side.memory, &side.indices)
                .map_or(0, |address| address.log2);
            if log2 < log2_of(COPY_ALIGNMENT) {
                let known = 1 << log2;
                let message = format!(
                    "has a {name} that is only known to be aligned to {known} bytes, and a bulk copy needs 16"
                );
                return Err(Reason::new(message).help("say what it is aligned to by memref.assume_alignment"));
            }
        }
        check_proxy(source.memory, function, read_motion)?;
        Ok(Self {
            source,
            destination,
            bytes,
        })
    }

    /// How many bytes are written.
    pub fn bytes(&self) -> i64 {
        self.bytes
    }

    /// The address that is written first.
    pub fn destination(&self, addresses: &mut Addresses<'c>) -> Option<Address<'c>> {
        addresses.of(self.destination.memory, &self.destination.indices)
    }

    /// Makes the load before `place`. Returns its token.
    pub fn emit(&self, place: Op<'c>, mapping: &Mapping<'c>, dependencies: &[Value<'c>]) -> Vec<Value<'c>> {
        let [from, to] = [&self.source, &self.destination].map(|side| mapping.lookup(side.memory));
        let load = OpBuilder::new(gpux::BULK_LOAD, place.location())
            .operand_groups(&[dependencies, &[from], &[to], &[], &[]])
            .results(&[token(place.context())]);
        vec![load.before(place).result(0)]
    }
}

/// Returns an error if the kernel may write `source`: bulk copies see it only after a fence, which is for the program to
/// place.
fn check_proxy<'c>(
    source: Value<'c>,
    function: Op<'c>,
    read_motion: &mut ReadMotion<'c>,
) -> Result<(), Reason<'c>> {
    let summary = read_motion.summaries.of(function);
    let root = Root::of(source);
    let mut writes = summary
        .touches
        .iter()
        .filter(|touch| touch.writes && read_motion.may_reach(touch.root, root));
    let Some(write) = summary.unknown.or_else(|| writes.next().map(|touch| touch.op)) else {
        return Ok(());
    };
    let message = "may read what the kernel itself writes, which a bulk copy sees only after a proxy fence";
    let reason = Reason::new(message).note(write, "this may write it");
    Err(reason.help("if both are arguments and never the same buffer, say llvm.noalias of one of them"))
}
