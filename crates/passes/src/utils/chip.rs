//! GPU names, compute capabilities, and workgroup memory limits.

use async_mlir::ir::Op;
use async_mlir::names::attr;
use async_mlir::pass::PassError;

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

/// The versions of PTX that LLVM can write, as it writes them.
const KNOWN_PTX: [u32; 31] = [
    32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84,
    85, 86, 87, 88, 90,
];

/// Checks a list of target features: those of NVPTX are versions of PTX and chips.
pub(crate) fn check_features(features: &str) -> Result<(), String> {
    let is_known = |feature: &str| {
        let name = feature.strip_prefix(['+', '-']).unwrap_or_default();
        let version = name.strip_prefix("ptx").and_then(|version| version.parse().ok());
        version.is_some_and(|version| KNOWN_PTX.contains(&version)) || sm_of(name).is_ok()
    };
    let mut given = features.split(',').filter(|feature| !feature.is_empty());
    match given.find(|feature| !is_known(feature)) {
        None => Ok(()),
        Some(unknown) => Err(format!(
            "features has '{unknown}', which LLVM does not know: a version of PTX, such as +ptx83"
        )),
    }
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

/// What a block can have.
pub(crate) struct MemoryLimit {
    /// What has this limit.
    pub name: String,
    /// Of workgroup memory.
    pub bytes: u64,
}

impl MemoryLimit {
    /// The limit of a block of `function` on `chip`; if that is empty, on the target of the module.
    pub fn of<'c>(function: Op<'c>, chip: &str) -> Result<Self, PassError<'c>> {
        let target = match chip {
            "" => target_chip(function),
            given => Some(given.to_owned()),
        };
        let sm = match target.as_deref().map(sm_of).transpose() {
            Ok(sm) => sm,
            Err(_) if chip.is_empty() => None,
            Err(message) => return Err(PassError::new(function.location(), message)),
        };
        Ok(Self {
            name: target
                .filter(|_| sm.is_some())
                .unwrap_or_else(|| "any GPU".to_owned()),
            bytes: max_workgroup_bytes(sm),
        })
    }
}

/// The chip that the module around `function` is compiled for, if a target says so.
pub(crate) fn target_chip(function: Op<'_>) -> Option<String> {
    function.ancestors().find_map(|module| {
        let targets = module.attr(attr::TARGETS)?.to_string();
        let (_, chip) = targets.split_once("chip = \"")?;
        Some(chip.split('"').next()?.to_owned())
    })
}
