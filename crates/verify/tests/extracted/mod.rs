//! Runs a checker that is extracted from its proof.

use proptest::prelude::*;
use proptest::sample::Index;
use std::io::Write;
use std::process::{Command, Stdio};

/// A number that is changed, and how.
pub type Spoil = (Index, u8);

/// Changes of a few numbers, many times.
pub fn spoils() -> impl Strategy<Value = Vec<Vec<Spoil>>> {
    proptest::collection::vec(proptest::collection::vec((any::<Index>(), 0_u8..6), 1..3), 40)
}

/// Changes a few numbers of a line.
pub fn spoil(line: &[u64], spoils: &[Spoil]) -> Vec<u64> {
    let mut line = line.to_vec();
    for (at, how) in spoils {
        let at = at.index(line.len());
        match how {
            0 => line[at] += 1,
            1 => line[at] = line[at].saturating_sub(1),
            2 => line[at] = 0,
            3 => line[at] += 64,
            4 => {
                line.remove(at);
            }
            _ => line.insert(at, 0),
        }
    }
    line
}

/// Compares verdicts on lines with those of the checker that the environment variable `named` names; some lines are accepted, and some not.
pub fn compare(named: &str, all: &[(Vec<u64>, bool)]) {
    let proven = std::env::var_os(named).expect("it names the extracted checker");
    let mut child = Command::new(proven)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the extracted checker starts");
    let mut input = child.stdin.take().expect("it reads");
    let text: Vec<String> = all
        .iter()
        .map(|(line, _)| line.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    let writer = std::thread::spawn(move || {
        for line in text {
            writeln!(input, "{line}").expect("it reads all");
        }
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("all is written");
    let verdicts = String::from_utf8(output.stdout).expect("it prints words");
    let verdicts: Vec<&str> = verdicts.lines().collect();
    assert_eq!(verdicts.len(), all.len(), "one verdict a line");
    let mut accepted = 0;
    for ((line, ours), theirs) in all.iter().zip(verdicts) {
        assert_eq!(if *ours { "accepted" } else { "refused" }, theirs, "{line:?}");
        accepted += usize::from(*ours);
    }
    println!("{} certificates, {accepted} accepted", all.len());
    assert!(
        accepted * 10 > all.len() && accepted * 10 < all.len() * 9,
        "of both kinds"
    );
}
