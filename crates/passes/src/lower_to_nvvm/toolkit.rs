//! Finds the CUDA toolkit.
//!
//! CUDA's device library is in a folder of the toolkit, and so is `ptxas`: the one is found by the other. The Python package
//! that has `ptxas` has both.

use std::env;
use std::path::{Path, PathBuf};

/// What says where the toolkit is, as upstream looks it up.
const VARIABLES: [&str; 3] = ["CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"];
/// Where installers put it.
const USUAL_FOLDERS: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"];
/// Where a toolkit has its device library.
const LIBDEVICE: &str = "nvvm/libdevice/libdevice.10.bc";

/// The CUDA toolkit.
pub(super) struct Toolkit {
    /// Its folder, if one with the device library was found.
    pub folder: Option<PathBuf>,
    /// The folders that were looked at.
    pub searched: Vec<PathBuf>,
}

impl Toolkit {
    /// Looks for the toolkit; `given` is its folder, or empty.
    pub fn find(given: &str) -> Result<Self, String> {
        if given.is_empty() {
            return Ok(Self::among(candidates()));
        }
        let found = Self::among(vec![PathBuf::from(given)]);
        if found.folder.is_some() {
            return Ok(found);
        }
        let libdevice = Path::new(given).join(LIBDEVICE);
        Err(format!(
            "toolkit is {given}, but there is no {}",
            libdevice.display()
        ))
    }

    /// The first of `folders` that has the device library.
    fn among(folders: Vec<PathBuf>) -> Self {
        let found = folders.iter().find(|folder| folder.join(LIBDEVICE).is_file());
        Self {
            folder: found.cloned(),
            searched: folders,
        }
    }

    /// Checks that `ptxas` is where upstream looks for it: better here than after everything else is done.
    pub fn check_ptxas(&self) -> Result<(), String> {
        let of_toolkit = self.folder.iter().map(|folder| folder.join("bin"));
        let of_variables = from_variables().map(|folder| folder.join("bin"));
        let mut folders = of_toolkit.chain(on_path()).chain(of_variables);
        if folders.any(|folder| folder.join("ptxas").is_file()) {
            return Ok(());
        }
        Err("format=bin needs ptxas: give toolkit=<folder>, a CUDA toolkit with bin/ptxas in it, set CUDA_HOME, or add \
             ptxas to the PATH (it is also in the Python package nvidia-cuda-nvcc-cu12). format=isa needs none"
            .to_owned())
    }
}

/// The folders that may be a toolkit's, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let around_ptxas = on_path().filter_map(|folder| around(&folder.join("ptxas")));
    let usual = USUAL_FOLDERS.into_iter().map(PathBuf::from);
    let mut candidates: Vec<PathBuf> = Vec::new();
    for folder in from_variables().chain(around_ptxas).chain(usual) {
        if !candidates.contains(&folder) {
            candidates.push(folder);
        }
    }
    candidates
}

fn from_variables() -> impl Iterator<Item = PathBuf> {
    VARIABLES.iter().filter_map(env::var_os).map(PathBuf::from)
}

/// The folders on the `PATH`.
fn on_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

/// The folder of the toolkit that the executable `tool` is in, wherever links to it are.
fn around(tool: &Path) -> Option<PathBuf> {
    let file = tool.canonicalize().ok()?;
    Some(file.parent()?.parent()?.to_path_buf())
}
