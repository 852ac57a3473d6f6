//! What the documentation shows is what the tools do.
//!
//! - In a block of kind `console`, lines that begin with `$ ` are commands. They are run in the root of the repository,
//!   and must print the lines that follow them.
//! - A block below a comment `<!-- from FILE -->` must be in that file.
//!
//! Commands with `async-sim` at the head of a file in `examples/` are run, too.
//!
//! A line `…` stands for lines that are left out. Blank lines and indentation do not count.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const LEFT_OUT: &str = "…";

/// A fenced block of a page.
struct Fenced {
    /// The number of its first line.
    line: usize,
    /// What is written after the fence.
    kind: String,
    /// The file that it is said to be from.
    from: Option<String>,
    text: Vec<String>,
}

/// The fenced blocks of `page`.
fn blocks(page: &str) -> Vec<Fenced> {
    let mut blocks: Vec<Fenced> = Vec::new();
    let (mut inside, mut from) = (false, None);
    for (number, line) in (1..).zip(page.lines()) {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                let (kind, from, text) = (kind.to_owned(), from.take(), Vec::new());
                blocks.push(Fenced {
                    line: number + 1,
                    kind,
                    from,
                    text,
                });
            }
        } else if let (true, Some(block)) = (inside, blocks.last_mut()) {
            block.text.push(line.to_owned());
        } else if let Some(comment) = line.strip_prefix("<!-- from ") {
            from = comment.strip_suffix(" -->").map(str::to_owned);
        }
    }
    blocks
}

/// The lines of a text that count.
fn lines<'a>(text: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    text.into_iter()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

/// Checks that `actual` is `shown`, but for what `…` stands for.
fn is_shown(shown: &[&str], actual: &[&str]) -> Result<()> {
    let mut at = 0;
    let mut anywhere = false;
    for part in shown.split_inclusive(|line| *line == LEFT_OUT) {
        let open = part.last() == Some(&LEFT_OUT);
        let wanted = &part[..part.len() - usize::from(open)];
        let mut starts = at..=actual.len().saturating_sub(wanted.len());
        let start = starts.find(|&start| (start == at || anywhere) && actual[start..].starts_with(wanted));
        let Some(start) = start else {
            let rest = actual[at.min(actual.len())..].join("\n");
            bail!("expected\n{}\nin what is left:\n{rest}", wanted.join("\n"));
        };
        at = start + wanted.len();
        anywhere = open;
    }
    ensure!(
        anywhere || at == actual.len(),
        "not shown:\n{}",
        actual[at..].join("\n")
    );
    Ok(())
}

/// A folder with what pages call `$prefix`: of what the packages install, the shared libraries that Cargo puts beside this test.
fn installed() -> Result<PathBuf> {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
    fs::create_dir_all(prefix.join("lib"))?;
    let library = "libasyncopt_mgpu.so";
    fs::copy(
        env::current_exe()?.with_file_name(library),
        prefix.join("lib").join(library),
    )
    .with_context(|| library.to_owned())?;
    Ok(prefix)
}

/// Runs `command` as a reader would who has the tools on the path; returns all that it prints.
fn output_of(command: &str, root: &Path) -> Result<String> {
    let llvm =
        env::var_os("MLIR_SYS_220_PREFIX").context("run this under cargo, which names the LLVM prefix")?;
    let tools = Path::new(env!("CARGO_BIN_EXE_async-opt"))
        .parent()
        .context("a tool is in a folder")?;
    let mut paths = vec![
        tools.to_owned(),
        root.join(".venv/bin"),
        Path::new(&llvm).join("bin"),
    ];
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(root)
        .env("prefix", installed()?)
        .env("PATH", env::join_paths(paths)?)
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks a block; returns false if it claims nothing.
fn check(block: &Fenced, root: &Path) -> Result<bool> {
    if let Some(file) = &block.from {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let mut shown = lines(block.text.iter().map(String::as_str));
        shown.insert(0, LEFT_OUT);
        shown.push(LEFT_OUT);
        is_shown(&shown, &lines(text.lines())).with_context(|| format!("not in {file}"))?;
        return Ok(true);
    }
    if block.kind != "console" {
        return Ok(false);
    }
    let mut rest = block.text.iter().map(String::as_str).peekable();
    while let Some(line) = rest.next() {
        let mut command = line
            .strip_prefix("$ ")
            .context("a console block begins with a command")?
            .to_owned();
        while command.ends_with('\\') {
            command.push('\n');
            command.push_str(rest.next().context("the command goes on")?);
        }
        let mut shown = Vec::new();
        while let Some(line) = rest.next_if(|line| !line.starts_with("$ ")) {
            shown.push(line);
        }
        let printed = output_of(&command, root)?;
        is_shown(&lines(shown), &lines(printed.lines())).with_context(|| command)?;
    }
    Ok(true)
}

/// All pages below `folder`.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn pages_show_what_is() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut files = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    pages(&root.join("docs"), &mut files)?;
    let (mut checked, mut wrong) = (0, Vec::new());
    for file in files {
        let page = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        for block in blocks(&page) {
            match check(&block, &root) {
                Ok(claims) => checked += usize::from(claims),
                Err(error) => wrong.push(format!("{}:{}: {error:#}", file.display(), block.line)),
            }
        }
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    ensure!(checked > 0, "nothing is checked");
    Ok(())
}

/// Each example says how to run it, and what is run so is clean.
#[test]
fn examples_run_as_they_say() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let commands = text.lines().filter_map(|line| line.strip_prefix("//   "));
        let mut runs = commands.filter(|command| command.contains("async-sim"));
        let run = runs
            .next()
            .with_context(|| format!("{} does not say how it is run", path.display()))?;
        let printed = output_of(run, &root)?;
        ensure!(printed.contains(": clean ("), "{run}\n{printed}");
    }
    Ok(())
}

#[test]
fn what_is_shown_may_leave_lines_out() {
    let actual = ["a", "b", "c", "d"];
    for right in [
        &["a", "b", "c", "d"][..],
        &["…", "b", "…"],
        &["a", "…", "d"],
        &["…"],
        &["…", "b", "c", "…", "d"],
    ] {
        assert!(is_shown(right, &actual).is_ok(), "{right:?}");
    }
    for wrong in [
        &["a", "b"][..],
        &["b", "…"],
        &["a", "…", "c"],
        &["…", "c", "…", "b", "…"],
        &["…", "b", "d"],
        &[],
    ] {
        assert!(is_shown(wrong, &actual).is_err(), "{wrong:?}");
    }
}
