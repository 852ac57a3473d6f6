mod oracle;
use oracle::blocks::text;
use oracle::lower::*;
use oracle::improve::*;
use oracle::generate::*;
use tokenflow::*;
use proptest::prelude::*;
use proptest::test_runner::*;

fn size(s: &[Stmt]) -> usize { s.iter().map(|s| 1 + match s {
    Stmt::Arms{arms, ..} => arms.iter().map(|a| size(&a.0)).sum(),
    Stmt::For{body, ..} | Stmt::Repeat{body, ..} => size(body),
    Stmt::While{before, after, ..} => size(before)+size(after),
    Stmt::Blocks(b, _) => b.iter().map(|b| 1+size(&b.stmts)).sum(),
    _ => 0,
}).sum() }

/// smallest failing programs
fn hunt(name: &str, style: Style, cases: usize, check: impl Fn(&Program) -> Option<String>) {
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..ProptestConfig::default() });
    let unst = std::env::var("UNST").is_ok();
    let mut best: Option<(usize, String)> = None;
    let mut fails = 0;
    for _ in 0..cases {
        let strat = if unst { unstructured(style).boxed() } else { structured(style).boxed() };
        let mut tree = strat.new_tree(&mut runner).unwrap();
        let f = |r: &Recipe| { let p = r.program(); check(&p).map(|m| (size(&r.stmts) + r.blocks.iter().map(|b| 2+ size(&b.stmts)).sum::<usize>(), m)) };
        if let Some(mut found) = f(&tree.current()) {
            fails += 1;
            if fails > 40 { continue }
            let mut left = 600;
            loop {
                left -= 1; if left == 0 { break }
                if !tree.simplify() { break }
                loop {
                    match f(&tree.current()) { Some(m) => { found = m; break }
                        None => if !tree.complicate() { break } }
                }
            }
            if best.as_ref().is_none_or(|b| b.0 > found.0) { best = Some(found); }
        }
    }
    println!("=== {name}: {fails} of {cases}");
    if let Some(b) = best { println!("{}", b.1); }
}
const B: Options = Options { balance: true, ..PLAIN };
const F: Options = Options { form_groups: true, ..PLAIN };

#[test]
fn balance_worse() {
    for style in [Style::Tokens, Style::Mixed] {
    hunt("balance forces more", style, 6000, |p| {
        let off = lower(p, &PLAIN); let on = lower(p, &B);
        let d = compare_emitted(p, &on.emitted, &off.emitted);
        d.left_forces_more.is_some().then(|| format!("{d:?}\n{}\noff\n{}", text(p, &on.emitted), text(p, &off.emitted)))
    }); }
}
#[test]
fn balance_vain() {
    for style in [Style::Tokens, Style::Mixed] {
    hunt("balance in vain", style, 6000, |p| {
        let off = lower(p, &PLAIN); let on = lower(p, &B);
        if on.emitted == off.emitted { return None }
        let d = compare_emitted(p, &on.emitted, &off.emitted);
        if d.right_forces_more.is_some() { return None }
        let same = (0..).zip(on.emitted.iter().zip(&off.emitted)).all(|(q, (a,b))| oracle::compare::same_commits(p, &a.commits, &b.commits, Queue(q)));
        (!same).then(|| format!("{d:?}\n{}\noff\n{}", text(p, &on.emitted), text(p, &off.emitted)))
    }); }
}
#[test]
fn balance_missed() {
    hunt("balance missed", Style::Tokens, 1500, |p| {
        let off = lower(p, &PLAIN); let on = lower(p, &B);
        missed_balance(p, &off.emitted, &on.emitted).map(|b| format!("{}\nis\n{}", text(p, &b), text(p, &on.emitted)))
    });
}
#[test]
fn group_missed() {
    hunt("group missed", Style::Tokens, 250, |p| {
        let off = lower(p, &PLAIN); let on = lower(p, &F);
        missed_group(p, &off.emitted, &on.emitted).map(|b| format!("{}\nis\n{}", text(p, &b), text(p, &on.emitted)))
    });
}
#[test]
fn none_exact() {
    let style = if std::env::var("GIVEN").is_ok() { Style::Given } else { Style::Tokens };
    hunt("no exact assignment", style, 20000, |p| {
        for q in 0..p.queues {
            let c = if style == Style::Given { vec![0; p.slots as usize] } else { p.one_group_each(Queue(q)) };
            if oracle::assign::exact_assignments(p, Queue(q), &c).is_some_and(|a| a.is_empty()) {
                return Some(text(p, &lower_counted(p, true).emitted))
            }
        }
        None
    });
}
#[test]
fn several_exact() {
    hunt("several exact assignments", Style::Tokens, 3000, |p| {
        for q in 0..p.queues {
            let c = p.one_group_each(Queue(q));
            let a = oracle::assign::exact_assignments(p, Queue(q), &c);
            if a.as_ref().is_some_and(|a| a.len() > 1) {
                return Some(format!("{a:?} {}", text(p, &lower(p, &PLAIN).emitted)))
            }
        }
        None
    });
}
