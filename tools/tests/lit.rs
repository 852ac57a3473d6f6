//! Runs the lit tests in `test/` under `cargo test`, with the litcheck crates in the place of LLVM's lit and FileCheck.
//!
//! `cargo test -p async-tools --test lit -- Tool/` runs the tests whose path contains `Tool/`. LLVM's own runner takes
//! the same files: `tools/test` runs both.
//!
//! FileCheck is a command in the tests' pipelines, so this executable also plays that part, when it is called by that
//! name.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};
use litcheck::{
    diagnostics::{DefaultSourceManager, FileName, SourceLanguage},
    reporting::PrintDiagnostic,
};
use litcheck_lit::{
    Config, DefaultTestSuiteRegistry, Test, TestFormat, TestStatus, TestSuiteRegistry, TestSuiteRegistryExt,
};
use std::{
    env, fs,
    io::{self, Read},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

/// How much of a failed test's output is shown.
const SHOWN_LINES: usize = 80;

/// What `test/lit.suite.toml` makes of the commands `FileCheck` and `not`.
const FILECHECK: &str = "litcheck-filecheck";
const NOT: &str = "litcheck-not";

fn main() -> ExitCode {
    let name = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if name.file_stem().is_some_and(|stem| stem == FILECHECK) {
        return filecheck();
    }
    match run_suite() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a trial of each lit test and runs them.
fn run_suite() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let suite = root.join("test");
    // litcheck takes paths below the current directory only.
    env::set_current_dir(&root)?;
    let commands = tempfile::tempdir()?;
    symlink(env::current_exe()?, commands.path().join(FILECHECK))?;
    symlink(llvm_tools()?.join("not"), commands.path().join(NOT))?;

    let mut config = Config::new(vec![suite.to_string_lossy().into_owned()]);
    config.options.search_paths = search_paths(commands.path(), &root)?;
    config.options.timeout = Some(120);
    let config = Arc::new(config);
    let mut registry = DefaultTestSuiteRegistry::default();
    registry
        .load(&config)
        .map_err(|report| anyhow!("cannot load the suite: {}", PrintDiagnostic::new(report)))?;
    ensure!(registry.num_tests() > 0, "no tests in {}", suite.display());

    let trials = registry
        .tests()
        .map(|test| {
            let config = Arc::clone(&config);
            let name = test.path.to_string_lossy().into_owned();
            Trial::test(name, move || run_test(&test, &config))
        })
        .collect();
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}

/// Runs one lit test.
fn run_test(test: &Test, config: &Config) -> Result<(), Failed> {
    let result = test
        .config
        .format
        .execute(test, config)
        .map_err(|report| PrintDiagnostic::new(report).to_string())?;
    match result.status() {
        TestStatus::Pass | TestStatus::FlakyPass | TestStatus::Xfail | TestStatus::Unsupported => Ok(()),
        status => {
            let output = format!("{status}\n{}{}", result.stdout(), result.stderr());
            // FileCheck shows all of its input, which may be thousands of lines of PTX.
            let mut lines: Vec<_> = output.lines().take(SHOWN_LINES + 1).collect();
            if lines.len() > SHOWN_LINES {
                lines[SHOWN_LINES] = "(and so on)";
            }
            Err(lines.join("\n").into())
        }
    }
}

/// Where the tests' commands are: ours, then what `tools/setup` installs.
fn search_paths(commands: &Path, root: &Path) -> Result<Vec<PathBuf>> {
    let tool = Path::new(env!("CARGO_BIN_EXE_async-opt"));
    let paths = [
        commands.to_owned(),
        tool.parent().context("an executable is in a folder")?.to_owned(),
        root.join(".venv/bin"),
        llvm_tools()?,
    ];
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// The folder of LLVM's executables.
fn llvm_tools() -> Result<PathBuf> {
    let prefix =
        env::var_os("MLIR_SYS_220_PREFIX").context("run this under cargo, which names the LLVM prefix")?;
    Ok(Path::new(&prefix).join("bin"))
}

/// FileCheck's command line, as far as it differs from litcheck's.
#[derive(Parser)]
#[command(name = "FileCheck")]
struct FileCheck {
    /// The file with the checks.
    match_file: PathBuf,
    /// The file to check.
    #[arg(long, default_value = "-")]
    input_file: PathBuf,
    #[command(flatten)]
    options: litcheck_filecheck::Options,
}

/// The text of a file, or of the standard input if it is `-`; a tool under test may print bytes that are no UTF-8.
fn read_lossy(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = fs::read(path)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes every run of spaces and tabs one space, as FileCheck does with both of its files. litcheck's says that it does
/// so too, but (in 0.5) finds no `a b` in `a<TAB>b`, and PTX is full of tabs.
fn collapse_whitespace(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for character in text.chars() {
        if !matches!(character, ' ' | '\t') {
            collapsed.push(character);
        } else if !collapsed.ends_with(' ') {
            collapsed.push(' ');
        }
    }
    collapsed
}

/// Plays FileCheck.
fn filecheck() -> ExitCode {
    let arguments = FileCheck::parse();
    let config = litcheck_filecheck::Config {
        source_manager: Arc::new(DefaultSourceManager::default()),
        options: arguments.options,
    };
    let strict = config.options.strict_whitespace;
    let load = |path: &Path| -> Result<_, String> {
        let text = read_lossy(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let text = if strict { text } else { collapse_whitespace(&text) };
        let name = FileName::from(path.to_string_lossy().into_owned());
        Ok(config.source_manager().load(SourceLanguage::Unknown, name, text))
    };
    let check = || -> Result<(), String> {
        let (output, checks) = (load(&arguments.input_file)?, load(&arguments.match_file)?);
        let readable = |report| PrintDiagnostic::new(report).to_string();
        config.options.validate().map_err(readable)?;
        litcheck_filecheck::Test::new(checks, &config)
            .verify(output)
            .map_err(readable)?;
        Ok(())
    };
    match check() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
