mod oracle;
use oracle::blocks::text;
use oracle::lower::*;
use oracle::generate::*;
use tokenflow::*;
use proptest::prelude::*; use proptest::strategy::ValueTree;
use proptest::test_runner::*;
use std::time::*;
#[test]
fn slow() {
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() });
    let strat = any_program(Style::Mixed);
    let t0 = Instant::now();
    for n in 0..4000 {
        let tree = strat.new_tree(&mut runner).unwrap();
        let p = tree.current().program();
        let p2 = p.clone();
        let (tx, rx) = std::sync::mpsc::channel();
        std::thread::spawn(move || { let t = Instant::now(); let s = solve(&p2, &Options{ unroll_limit: 0, ..Options::default()}); let l = lower(&p2, &Options::default()); let _ = tx.send((t.elapsed(), s, l.peels)); });
        match rx.recv_timeout(Duration::from_secs(5)) {
            Ok((t, _, peels)) => if t > Duration::from_millis(300) { println!("case {n}: {t:?} peels {peels} awaits {}", p.awaits) },
            Err(_) => { println!("case {n}: hangs\n{}", text(&p, &lower_given(&p, &one_group_each(&p), true).emitted)); break }
        }
        if t0.elapsed().as_secs() > 200 { println!("stopped at {n}"); break }
    }
}
