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


fn side(l: &Lowered) -> oracle::compare::Side<'_> { oracle::compare::Side { program: &l.program, emitted: &l.emitted } }
#[test]
fn balance_worse() {
    hunt("balance forces more", Style::Mixed, 2500, |p| {
        let off = lower(p, &PLAIN); let on = lower(p, &B);
        let d = compare_emitted(p, &on.emitted, &off.emitted);
        d.left_forces_more.is_some().then(|| format!("{d:?}\n{}\noff\n{}", text(p, &on.emitted), text(p, &off.emitted)))
    });
}
#[test]
fn group_peel() {
    hunt("groups+peel force more", Style::Mixed, 2500, |p| {
        let on = lower(p, &Options { balance: false, ..Options::default() }); let off = lower(p, &Options { form_groups: false, balance: false, ..Options::default() });
        let d = oracle::compare::compare(side(&on), side(&off)).unwrap();
        d.left_forces_more.is_some().then(|| format!("{d:?}\n{}\noff\n{}", text(&on.program, &on.emitted), text(&off.program, &off.emitted)))
    });
}
#[test]
fn group_general() {
    hunt("group missed across blocks", Style::Tokens, 800, |p| {
        if p.awaits == 0 { return None }
        let off = lower(p, &PLAIN); let on = lower(p, &F);
        for q in 0..p.queues as usize { for s in 0..p.slots as usize {
            let mut c: Vec<Commits> = on.emitted.iter().map(|e| e.commits.clone()).collect();
            if c[q][s] == 0 { continue }
            c[q][s] -= 1;
            let m = lower_given(p, &c, true).emitted;
            if oracle::unsound(p, &m).is_empty() && all_committed(p, &m) && compare_emitted(p, &m, &off.emitted).left_forces_more.is_none()
               && m[q].waits.iter().any(|w| w.is_some()) {
                return Some(format!("{}\nis\n{}", text(p, &m), text(p, &on.emitted)))
            }
        }}
        None
    });
}
