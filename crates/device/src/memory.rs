//! Memory, which the embedding gives.

/// The memory that the device and the host share addresses in.
pub trait Memory {
    /// Makes room for an allocation, aligned to 256 bytes. `None` if there is not so much.
    fn allocate(&mut self, bytes: u64) -> Option<u64>;

    /// Takes the room of an allocation back.
    fn deallocate(&mut self, address: u64, bytes: u64);

    /// Copies bytes, which may overlap.
    fn copy(&mut self, to: u64, from: u64, bytes: u64);

    /// Reads bytes.
    fn read(&self, from: u64, into: &mut [u8]);

    /// Writes bytes.
    fn write(&mut self, to: u64, bytes: &[u8]);
}

/// Memory that is a vector, for tests and for programs whose addresses are no pointers. An access outside of it does nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arena {
    bytes: Vec<u8>,
    next: u64,
}

impl Arena {
    /// Memory of `bytes` bytes at the addresses from 0 on. Allocations begin at `first`; what is below is the host's.
    pub fn new(bytes: usize, first: u64) -> Self {
        Self {
            bytes: vec![0; bytes],
            next: first,
        }
    }

    fn range(&self, at: u64, bytes: u64) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(usize::try_from(bytes).ok()?)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

impl Memory for Arena {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let at = self.next.checked_next_multiple_of(256)?;
        self.range(at, bytes)?;
        self.next = at + bytes;
        Some(at)
    }

    fn deallocate(&mut self, _: u64, _: u64) {}

    fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        if let (Some(to), Some(from)) = (self.range(to, bytes), self.range(from, bytes)) {
            self.bytes.copy_within(from, to.start);
        }
    }

    fn read(&self, from: u64, into: &mut [u8]) {
        if let Some(range) = self.range(from, into.len() as u64) {
            into.copy_from_slice(&self.bytes[range]);
        }
    }

    fn write(&mut self, to: u64, bytes: &[u8]) {
        if let Some(range) = self.range(to, bytes.len() as u64) {
            self.bytes[range].copy_from_slice(bytes);
        }
    }
}
