//! Reads IR into the skeletons that `tokenflow` works on.
//!
//! [`vocabulary`] says what single operations mean, in our dialects or upstream's; [`skeleton`] reads the control flow
//! around them, through MLIR's interfaces alone; [`origin`] says which queues a token can belong to;
//! [`threads`] what differs between the threads of a block.

pub mod memory;
pub mod origin;
pub mod skeleton;
pub mod threads;
pub mod tree;
pub mod vocabulary;
