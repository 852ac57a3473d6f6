//! The names of GPUs, and how much workgroup memory they have.

/// The oldest GPU that has `cp.async`.
pub(crate) const FIRST_SM: u32 = 80;
/// What LLVM can write code for.
const KNOWN_SMS: [u32; 12] = [80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];

/// The number in the name of `chip`, one with `cp.async`.
pub(crate) fn sm_of(chip: &str) -> Result<u32, String> {
    match sm_in(chip) {
        Some(sm) if sm < FIRST_SM => Err(format!(
            "chip is {chip}, but cp.async needs sm_{FIRST_SM} or newer"
        )),
        Some(sm) if KNOWN_SMS.contains(&sm) => Ok(sm),
        _ => Err(format!(
            "chip is '{chip}', which LLVM does not know: {FIRST_SM} to 121 as in sm_80, sm_90a or sm_100f"
        )),
    }
}

/// The number in the name of `chip`, if it has one.
pub(crate) fn sm_in(chip: &str) -> Option<u32> {
    let name = chip.strip_prefix("sm_")?;
    name.trim_end_matches(['a', 'f']).parse().ok()
}

/// How many bytes of workgroup memory a block gets without asking for more when it is launched.
pub(crate) const STATIC_WORKGROUP_BYTES: u64 = 48 << 10;

/// The most bytes of workgroup memory that a block can have on `sm`; of a GPU that is not known, what the largest have.
pub(crate) fn max_workgroup_bytes(sm: Option<u32>) -> u64 {
    let kilobytes = match sm {
        Some(80 | 87) => 163,
        Some(86 | 88 | 89 | 120 | 121) => 99,
        _ => 227,
    };
    kilobytes << 10
}
