//! A block as the checker of orders sees it: what each operation does, with all that is nested in it.

/// What an operation does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// The steps whose values it uses.
    pub uses: Vec<usize>,
    /// Whether it orders others.
    pub fence: Fence,
    /// It touches no memory that is known, but may not be executed where it was not: it may not pass a fence.
    pub stays: bool,
    /// What it accesses.
    pub accesses: Vec<Access>,
    /// It keeps its order among those of the same class.
    pub class: Option<u32>,
}

/// An order between an operation and all that do anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fence {
    /// None.
    #[default]
    None,
    /// A barrier between threads: copies before it may come after it.
    Barrier,
    /// Nothing passes it.
    All,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The number of the place.
    pub place: usize,
    /// Whether it writes.
    pub writes: bool,
    /// When it happens.
    pub timing: Timing,
}

/// When an access happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// When the operation is executed.
    Now,
    /// From then on, until it is awaited.
    Issued,
    /// Until then, from some earlier time on.
    Completed,
}

impl Step {
    /// Returns true if it does anything that a fence orders.
    #[must_use]
    pub fn does_anything(&self) -> bool {
        self.fence != Fence::None || self.stays || !self.accesses.is_empty()
    }

    /// Returns true if it starts copies, and does nothing else.
    #[must_use]
    pub fn only_issues(&self) -> bool {
        let is_issued = |access: &Access| access.timing == Timing::Issued;
        self.fence == Fence::None
            && !self.stays
            && !self.accesses.is_empty()
            && self.accesses.iter().all(is_issued)
    }
}
