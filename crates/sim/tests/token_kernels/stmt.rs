//! The statements of random kernels.

/// Slots of workgroup memory. Each holds a row of an element for each thread.
pub const SLOTS: usize = 4;
/// Rows of global memory that slots are stored to.
pub const ROWS: usize = 2;
/// Conditions that are kept in values.
pub const FLAGS: usize = 2;

/// What regions hand on; what they don't hand on is awaited before they end, and is after them what it was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carry {
    /// The tokens of these slots, and which slot is which.
    pub slots: [bool; SLOTS],
    /// The tokens of the rows that slots are stored to.
    pub rows: bool,
    /// Conditions, and a number.
    pub flags: bool,
}

impl Carry {
    /// Everything.
    pub const ALL: Self = Self {
        slots: [true; SLOTS],
        rows: true,
        flags: true,
    };

    /// Returns true if nothing is handed on.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Known when the kernel is compiled.
    Constant(bool),
    /// The same, computed in 8 bits, where it overflows.
    Narrow(bool),
    /// As the next bit says that the kernel was called with.
    Drawn(u8),
    /// What is in a value, which loops may hand on.
    Flag(usize),
    /// True in this iteration of the innermost loop: known if the loop is unrolled.
    Iteration(u8),
}

/// How a number is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A constant.
    Constant(u8),
    /// A product that is this number when it has wrapped around.
    Product(u8),
    /// 0 to 7, as the bits say that the kernel was called with.
    Drawn(u8),
    /// What is in a value, which loops may hand on: known if they are unrolled.
    Counted,
    /// The number of the iteration of the loop around.
    Iteration,
}

/// How the address of a slot is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// With two indices.
    Plain,
    /// In a `memref.subview`.
    Subview,
    /// In a `memref.collapse_shape`.
    Flat,
    /// In a `memref.reinterpret_cast` with the slot as its offset.
    Recast,
    /// The same of a `memref.view` that ends with the first slot.
    Beyond,
}

/// How a copy is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// After an await of the one before.
    Awaited,
    /// With the token of the one before as a dependency.
    Depends,
    /// In an `async.region`.
    Region,
    /// By the engine for bulk copies, by one thread for all.
    Bulk,
}

/// Which element of a slot a thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Its own.
    Own,
    /// That of the thread at the other end.
    Mirrored,
    /// That of the next one.
    Next,
}

impl Lane {
    /// The number of the element.
    pub fn index(self) -> &'static str {
        match self {
            Self::Own => "%t",
            Self::Mirrored => "%mirrored",
            Self::Next => "%next",
        }
    }
}

/// A counted loop.
#[derive(Clone, Debug)]
pub struct For {
    pub trips: Bound,
    pub ty: &'static str,
    pub lower: i8,
    pub step: u8,
    /// Begins with the number of the iteration of the loop around.
    pub triangular: bool,
    pub unsigned: bool,
    /// Flag 0 is true in the first iteration, and false in all others; the number is 3 there, and then 1.
    pub first: bool,
    pub carry: Carry,
    pub body: Vec<Stmt>,
}

/// A statement. Slots are filled, read and stored behind an await of what was begun on them before.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Copies something to a slot.
    Fill(usize, Issue, View),
    /// Awaits slots, one by one or joined, and adds what is in them to the output.
    Use(Vec<usize>, bool, View, Lane),
    /// The same with one of two slots.
    Select(Condition, usize, usize),
    /// Writes to a slot without a copy.
    Put(usize),
    /// Calls a function that writes to a buffer and returns it, a new one or a global, and adds what is in it to the output.
    Made(bool, Lane),
    /// Awaits a slot.
    Await(usize),
    /// Awaits some token that the kernel has, however old.
    AwaitOld(u8),
    /// Awaits a slot, and forgets its token.
    Ready(usize),
    /// Hands the token of each slot on to the next one, and the slot with it.
    Rotate,
    /// Sets a flag.
    Set(usize, Condition),
    /// Sets the number.
    Count(u8),
    /// Hands the token of a slot to a function.
    Pass(usize),
    /// A copy in counted form to memory that nobody reads.
    Copy,
    /// Commits what is in the open group.
    Commit,
    /// Waits until so many groups are in flight.
    Wait(u8),
    /// Stores a slot to a row of global memory.
    Store(usize, usize),
    /// A block barrier.
    Barrier,
    /// Writes to the output, by a function or not.
    Write(bool),
    /// `scf.if`, without `else` if there is only one arm.
    If(Condition, Carry, Vec<Vec<Stmt>>),
    /// `scf.for`.
    For(For),
    /// `scf.while`, with its body before the condition is looked at, or behind.
    While(Bound, Carry, bool, Vec<Stmt>),
    /// `scf.index_switch`; the last arm is the default.
    Switch(Bound, Carry, Vec<Vec<Stmt>>),
    /// `scf.execute_region`.
    Region(Carry, Vec<Stmt>),
    /// A branch between blocks.
    Branch(Condition, Carry, Vec<Vec<Stmt>>),
    /// A loop of blocks, which is left in the middle under a condition.
    Blocks(Bound, Condition, Carry, Vec<Vec<Stmt>>),
}

impl Stmt {
    /// What it has inside.
    pub fn bodies(&self) -> &[Vec<Self>] {
        match self {
            Self::For(For { body, .. }) | Self::While(.., body) | Self::Region(_, body) => {
                std::slice::from_ref(body)
            }
            Self::If(.., arms) | Self::Switch(.., arms) | Self::Branch(.., arms) | Self::Blocks(.., arms) => {
                arms
            }
            _ => &[],
        }
    }

    pub fn bodies_mut(&mut self) -> &mut [Vec<Self>] {
        match self {
            Self::For(For { body, .. }) | Self::While(.., body) | Self::Region(_, body) => {
                std::slice::from_mut(body)
            }
            Self::If(.., arms) | Self::Switch(.., arms) | Self::Branch(.., arms) | Self::Blocks(.., arms) => {
                arms
            }
            _ => &mut [],
        }
    }

    pub fn carry_mut(&mut self) -> Option<&mut Carry> {
        match self {
            Self::For(For { carry, .. })
            | Self::If(_, carry, _)
            | Self::While(_, carry, ..)
            | Self::Switch(_, carry, _)
            | Self::Region(carry, _)
            | Self::Branch(_, carry, _)
            | Self::Blocks(_, _, carry, _) => Some(carry),
            _ => None,
        }
    }

    pub fn condition_mut(&mut self) -> Option<&mut Condition> {
        match self {
            Self::Select(condition, ..)
            | Self::Set(_, condition)
            | Self::If(condition, ..)
            | Self::Branch(condition, ..)
            | Self::Blocks(_, condition, ..) => Some(condition),
            _ => None,
        }
    }

    pub fn bound_mut(&mut self) -> Option<&mut Bound> {
        match self {
            Self::For(For { trips, .. })
            | Self::While(trips, ..)
            | Self::Switch(trips, ..)
            | Self::Blocks(trips, ..) => Some(trips),
            _ => None,
        }
    }
}
