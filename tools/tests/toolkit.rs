//! Where `--gpux-lower-to-nvvm` looks for CUDA's device library, and what it says where there is none.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const KERNEL: &str = r"
gpu.module @kernels {
  gpu.func @kernel(%x: f32, %a: !llvm.ptr) kernel {
    %y = math.exp %x : f32
    llvm.store %y, %a : f32, !llvm.ptr
    gpu.return
  }
}
";

/// Where toolkits are on machines that have one.
const USUAL_FOLDERS: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"];
const LIBDEVICE: &str = "nvvm/libdevice/libdevice.10.bc";

/// Lowers [`KERNEL`] with this `PATH`, and `CUDA_HOME` if it is not empty.
fn lower(path: &Path, cuda_home: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_async-opt"));
    command.arg("--gpux-lower-to-nvvm").env("PATH", path);
    for variable in ["CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"] {
        command.env_remove(variable);
    }
    if !cuda_home.is_empty() {
        command.env("CUDA_HOME", cuda_home);
    }
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child
        .stdin
        .take()
        .context("no stdin")?
        .write_all(KERNEL.as_bytes())?;
    Ok(child.wait_with_output()?)
}

/// A new folder of this name.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

#[test]
fn message_names_the_folders_that_lack_it() -> Result<()> {
    let usual = USUAL_FOLDERS.iter().map(Path::new);
    if usual.into_iter().any(|folder| folder.join(LIBDEVICE).is_file()) {
        return Ok(());
    }
    // A ptxas that is alone there.
    let toolkit = folder("lonely toolkit")?;
    let path = toolkit.join("bin");
    fs::create_dir_all(&path)?;
    fs::write(path.join("ptxas"), "")?;

    let output = lower(&path, "/nowhere/cuda")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "there is no device library");
    let folders = format!(
        "(there is none in /nowhere/cuda, {}, /usr/local/cuda, /opt/cuda, /usr/lib/cuda)",
        toolkit.display()
    );
    ensure!(
        said.contains("needs __nv_expf of CUDA's device library"),
        "{said}"
    );
    ensure!(said.contains(&folders), "{said}");
    Ok(())
}

#[test]
fn library_lies_where_links_to_ptxas_lead() -> Result<()> {
    let toolkit = folder("linked-toolkit")?;
    fs::create_dir_all(toolkit.join("bin"))?;
    fs::write(toolkit.join("bin/ptxas"), "")?;
    let library = toolkit.join(LIBDEVICE);
    fs::create_dir_all(library.parent().context("no folder")?)?;
    // Empty, which upstream warns of by its name.
    fs::write(&library, "")?;
    let path = folder("links")?;
    symlink(toolkit.join("bin/ptxas"), path.join("ptxas"))?;

    let output = lower(&path, "")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!said.contains("which is not linked"), "{said}");
    ensure!(said.contains(&*library.to_string_lossy()), "{said}");
    Ok(())
}
