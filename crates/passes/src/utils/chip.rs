//! The names of GPUs.

/// The oldest GPU that has `cp.async`.
const FIRST_SM: u32 = 80;
/// What LLVM can write code for.
const KNOWN_SMS: [u32; 12] = [80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];

/// The number in the name of `chip`.
pub(crate) fn sm_of(chip: &str) -> Result<u32, String> {
    let number = chip
        .strip_prefix("sm_")
        .map(|name| name.trim_end_matches(['a', 'f']));
    match number.and_then(|number| number.parse().ok()) {
        Some(sm) if sm < FIRST_SM => Err(format!(
            "chip is {chip}, but cp.async needs sm_{FIRST_SM} or newer"
        )),
        Some(sm) if KNOWN_SMS.contains(&sm) => Ok(sm),
        _ => Err(format!(
            "chip is '{chip}', which LLVM does not know: {FIRST_SM} to 121 as in sm_80, sm_90a or sm_100f"
        )),
    }
}
