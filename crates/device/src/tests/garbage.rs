//! Programs that are wrong in every way: each is reported, and nothing panics.

use super::{DEVICE, SIZES, device};
use crate::*;
use proptest::prelude::*;

/// A call with any arguments: what it is, and three numbers.
type Step = (u8, [u64; 3]);

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        // Handles and pointers that there are, by their number.
        6 => 0..8_u64,
        1 => Just(u64::MAX),
        1 => Just(1 << 63),
        1 => DEVICE - 300..DEVICE + 2000,
        1 => any::<u64>(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (0..20_u8, [number(), number(), number()])
}

/// All that was returned, so that some arguments are right.
struct Known {
    handles: Vec<Handle>,
    memory: Vec<u64>,
}

impl Known {
    fn handle(&self, number: u64) -> Handle {
        let known = usize::try_from(number)
            .ok()
            .and_then(|index| self.handles.get(index));
        known.copied().unwrap_or(Handle(number))
    }

    fn address(&self, number: u64) -> u64 {
        let known = usize::try_from(number)
            .ok()
            .and_then(|index| self.memory.get(index));
        known.copied().unwrap_or(number)
    }
}

fn call(device: &mut Device<Arena>, known: &mut Known, (what, [a, b, c]): Step) -> Result<(), Failure> {
    device.begin("call")?;
    let (stream, memory) = (known.handle(a), known.address(b));
    match what {
        0 => known.handles.push(device.stream_create()),
        1 => known.handles.push(device.event_create()),
        2 | 3 => known.memory.push(device.alloc(c)?),
        4 => known.memory.push(device.alloc_async(c, stream)?),
        5 => device.free(memory)?,
        6 => device.free_async(memory, stream)?,
        7 => device.stream_destroy(stream)?,
        8 => device.event_destroy(stream)?,
        9 => device.event_record(known.handle(b), stream)?,
        10 => device.stream_wait_event(stream, known.handle(b))?,
        11 => device.stream_synchronize(stream)?,
        12 => device.event_synchronize(stream)?,
        13 => device.copy(memory, known.address(a), c, known.handle(a))?,
        14 => device.fill(memory, &[1, 2], c, stream)?,
        // What is registered may be filled, which takes its time.
        15 => device.register(memory, c % 4096)?,
        16 => device.unregister(memory)?,
        17 => known.handles.push(device.module_load(b".version 1")),
        18 => known.handles.push(device.module_function(stream, "k")?),
        _ => device.launch(stream, &SIZES, &[], known.handle(b))?,
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(program in prop::collection::vec(step(), 0..40), seed: u64) {
        for schedule in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
            let mut device = device(schedule);
            let mut known = Known { handles: Vec::new(), memory: Vec::new() };
            for &step in &program {
                let findings = device.findings().iter().map(|finding| finding.repeated + 1).sum::<u64>();
                if let Err(failure) = call(&mut device, &mut known, step) {
                    let now = device.findings().iter().map(|finding| finding.repeated + 1).sum::<u64>();
                    prop_assert!(now > findings || !failure.is_finding, "{}", failure);
                }
            }
            device.synchronize();
            prop_assert!(device.streams.all.values().all(|stream| stream.is_destroyed || stream.queue.is_empty()));
            device.finish();
        }
    }
}
