//! Random code with a ring of mbarriers, and the machine that it runs on.

pub mod generate;
pub mod machine;
pub mod trace;
