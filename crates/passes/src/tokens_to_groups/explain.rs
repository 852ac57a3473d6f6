//! `explain`: remarks that say what each wait waits for, and why its count is what it is.

use crate::analysis::origin::Origins;
use crate::analysis::skeleton::Skeleton;
use tokenflow::Solution;

/// Emits a remark at every await.
pub(super) fn explain(_skeleton: &Skeleton, _origins: &Origins, _solution: &Solution) {}
