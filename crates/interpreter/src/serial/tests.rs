//! Code that is written and read, whole and damaged.

use super::*;
use crate::adversary::Adversary;
use crate::code::{Access, Id, Index, Label, ParamKind, Piece, Queue, Spec};
use crate::embed::{Decoded, Outside, Running, checked};
use crate::scalar::Scalar;
use crate::value::{Elem, Value, View};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn place(op: &str, line: u32) -> OpLocation {
    OpLocation {
        op: op.into(),
        location: format!("k.mlir:{line}:3").into(),
    }
}

fn instructions() -> Vec<Op> {
    let access = |view: u32| Access {
        view: Reg(view),
        indices: [Reg(2)].into(),
    };
    vec![
        Op::Id {
            to: Reg(2),
            id: Id::Thread,
            dim: 0,
        },
        Op::Set {
            to: Reg(5),
            value: Value::Bits(1),
        },
        Op::Count {
            depth: 0,
            start: true,
        },
        Op::Load {
            to: Reg(3),
            from: access(0),
            count: 1,
            vector: false,
        },
        Op::Scalar {
            f: Scalar::Add,
            elem: Elem::Int(32),
            to: Reg(3),
            args: [Reg(3), Reg(1)].into(),
        },
        Op::Store {
            value: Reg(3),
            to: access(4),
        },
        Op::Barrier,
        Op::Load {
            to: Reg(3),
            from: access(4),
            count: 1,
            vector: false,
        },
        Op::Wait {
            queue: Queue(0),
            n: 0,
            read: false,
        },
        Op::Store {
            value: Reg(3),
            to: access(0),
        },
        Op::Print(
            [
                Piece::Text("is ".into()),
                Piece::Number {
                    value: Reg(3),
                    elem: Elem::Int(32),
                    spec: Spec {
                        conversion: 'd',
                        ..Spec::default()
                    },
                },
            ]
            .into(),
        ),
        Op::Branch {
            condition: Reg(5),
            then: Label(12),
            other: Label(2),
        },
        Op::Return,
    ]
}

/// Each thread adds a number to its element, by way of workgroup memory, in a loop that runs once.
fn increment() -> Code {
    let loops: Arc<[u32]> = [0].into();
    let instrs = instructions().into_iter().zip(1..).map(|(op, line)| Instr {
        op,
        place: place("test.op", line / 2),
        loops: Arc::clone(&loops),
    });
    let memref = ParamKind::MemRef {
        sizes: vec![None],
        strides: None,
        offset: 0,
        elem: Elem::Int(32),
        lanes: 1,
        workgroup: false,
    };
    let param = |to, kind| Param {
        to: Reg(to),
        kind,
        made_by: None,
    };
    Code {
        name: "increment".into(),
        module: "kernels".into(),
        instrs: instrs.collect(),
        regs: 6,
        params: vec![param(0, memref), param(1, ParamKind::Number(Elem::Int(32)))],
        workgroup: vec![BufferDecl {
            to: Reg(4),
            name: "tile".into(),
            view: View {
                buffer: crate::value::BufferId(0),
                base: 0,
                offset: 0,
                sizes: vec![4],
                strides: vec![1],
                elem: Elem::Int(32),
                lanes: 1,
            },
            align: 16,
            init: crate::code::Init::Unwritten(16),
        }],
        queues: vec!["cp_async".into()],
        loops: vec![place("test.loop", 1)],
        ..Code::default()
    }
}

/// Memory at the addresses from 0 on.
struct Bytes(Vec<u8>);

impl Outside for Bytes {
    fn read(&self, from: u64, into: &mut [u8]) {
        let from = usize::try_from(from).unwrap();
        into.copy_from_slice(&self.0[from..from + into.len()]);
    }

    fn write(&mut self, to: u64, bytes: &[u8]) {
        let to = usize::try_from(to).unwrap();
        self.0[to..to + bytes.len()].copy_from_slice(bytes);
    }
}

/// Runs a kernel on four numbers at 1024; what it has found, and what the numbers are.
fn run(code: &Code) -> (Result<(), String>, [u8; 4]) {
    let mut memory = Bytes(vec![0; 2048]);
    for (i, word) in [0_u64, 1024, 0, 4, 1, 10].into_iter().enumerate() {
        memory.write(8 * i as u64, &word.to_le_bytes());
    }
    let pointers: Vec<u64> = (0..6).map(|i| 8 * i).collect();
    let result = checked(code, [[1; 3], [4, 1, 1], [1; 3]], 0).and_then(|mut launch| {
        launch.budget = 1000;
        let decoded = Decoded::read(code, &pointers, &|from, into| {
            memory.read(from, into);
        })?;
        let mut running = Running::new(code, launch, Adversary::Late, decoded, &[], &memory)?;
        while !running.step(&mut memory) {}
        running.finish()
    });
    (result, [0, 4, 8, 12].map(|i| memory.0[1024 + i]))
}

#[test]
fn what_is_read_is_what_was_written() {
    let code = increment();
    let bytes = write(&[
        code.clone(),
        Code {
            name: "again".into(),
            ..code.clone()
        },
    ])
    .unwrap();
    let read = read(&bytes).unwrap();
    assert_eq!(format!("{:?}", read[0]), format!("{code:?}"));
    assert_eq!(read[1].name, "again");
    assert_eq!(run(&read[0]), (Ok(()), [10; 4]));
    // Places are kept once.
    let places = bytes.windows(6).filter(|text| text == b"k.mlir");
    assert_eq!(places.count(), 7 + 2);
}

#[test]
fn what_is_no_code_says_what_it_is() {
    let bytes = write(&[increment()]).unwrap();
    assert_eq!(read(b".version 7.0").unwrap_err(), SerialError::Other);
    let line = MAGIC.len();
    let mut other = bytes.clone();
    other[line] = b'9';
    assert!(matches!(read(&other).unwrap_err(), SerialError::Version(version) if version.starts_with('9')));
    let longer = [bytes.as_slice(), b"x"].concat();
    assert_eq!(
        read(&longer).unwrap_err().to_string(),
        "the code is damaged: something follows its end"
    );
    let host = Code {
        is_host: true,
        ..increment()
    };
    assert!(matches!(write(&[host]).unwrap_err(), SerialError::Unknown(_)));
}

#[test]
fn what_is_cut_is_refused() {
    let bytes = write(&[increment()]).unwrap();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} bytes");
    }
}

/// Reads code that was changed before it was written.
fn changed(change: impl FnOnce(&mut Code)) -> String {
    let mut code = increment();
    change(&mut code);
    read(&write(&[code]).unwrap()).unwrap_err().to_string()
}

#[test]
fn what_refers_to_nothing_is_refused() {
    let op = |i: usize, op: Op| move |code: &mut Code| code.instrs[i].op = op;
    let refused = [
        changed(op(3, Op::Jump(Label(13)))),
        changed(op(
            3,
            Op::Wait {
                queue: Queue(1),
                n: 0,
                read: false,
            },
        )),
        changed(op(
            3,
            Op::Id {
                to: Reg(0),
                id: Id::Block,
                dim: 3,
            },
        )),
        changed(op(3, Op::WarpBarrier { mask: Reg(1 << 30) })),
        changed(op(
            3,
            Op::Count {
                depth: 2,
                start: true,
            },
        )),
        changed(op(12, Op::Barrier)),
        changed(|code| code.instrs.clear()),
        changed(|code| code.loops.clear()),
        changed(|code| code.params[1].kind = ParamKind::Number(Elem::Int(65))),
        changed(|code| code.workgroup[0].init = crate::code::Init::Unwritten(15)),
        changed(|code| code.workgroup[0].init = crate::code::Init::Unwritten(1 << 31)),
        changed(|code| code.workgroup[0].view.strides.clear()),
        changed(op(
            3,
            Op::SubView {
                to: Reg(0),
                view: Reg(0),
                offsets: [Index::Const(0)].into(),
                sizes: [].into(),
                strides: [].into(),
                dropped: [].into(),
            },
        )),
    ];
    let expected = [
        "it jumps to where nothing is",
        "it names a queue that there isn't",
        "an instruction has numbers that it can't have",
        "it has more registers than it uses",
        "an instruction has numbers that it can't have",
        "it has no end",
        "it has no end",
        "an instruction is in a loop that there isn't",
        "it has integers of 65 bits",
        "a buffer has fewer bytes than elements",
        "its buffers are too large",
        "a buffer has no such sizes and strides",
        "an instruction has numbers that it can't have",
    ];
    for (refused, expected) in refused.iter().zip(expected) {
        assert_eq!(*refused, format!("the code is damaged: {expected}"));
    }
}

/// Damages bytes from `first` on.
fn damage(bytes: &mut [u8], first: usize, changes: &[(usize, u8)]) {
    let length = bytes.len() - first;
    for (at, by) in changes {
        bytes[first + at % length] ^= by;
    }
}

/// The same cases in every run.
fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(cases, |_| from_env.cases);
    ProptestConfig {
        cases,
        // A fixed number would be too few for many cases.
        max_global_rejects: from_env.max_global_rejects.max(cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

proptest! {
    #![proptest_config(config(100_000))]
    #[test]
    fn what_is_damaged_is_refused(changes in prop::collection::vec((any::<usize>(), 1_u8..), 1..4)) {
        let whole = write(&[increment()]).unwrap();
        let mut bytes = whole.clone();
        damage(&mut bytes, 0, &changes);
        // Two changes may be none.
        prop_assume!(bytes != whole);
        prop_assert!(read(&bytes).is_err());
    }

    /// With a hash that is right: what is read all the same can be run, to an end or to a message.
    #[test]
    fn what_passes_the_checks_runs(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let whole = write(&[increment()]).unwrap();
        let mut payload = payload(&whole).unwrap().to_vec();
        damage(&mut payload, 0, &changes);
        if let Ok(codes) = read(&framed(&payload)) {
            for code in &codes {
                let (result, _) = run(code);
                let broken = result.is_err_and(|message| message.contains("internal error"));
                prop_assert!(!broken, "{:#?}", code);
            }
        }
    }
}
