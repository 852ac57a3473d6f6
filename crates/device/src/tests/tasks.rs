//! Parts of the host that know different things, such as tasks: each calls the device with a clock of its own.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Fills or reads a byte in a stream of its own, and waits for that: what the caller knows afterwards.
fn access(device: &mut Device<Arena>, knows: &Clock, at: u64, writes: bool) -> Clock {
    let mut clock = knows.clone();
    device.acting(&mut clock, |device| {
        let stream = device.stream_create();
        if writes {
            ok(device.fill(at, &[1], 1, stream));
        } else {
            ok(device.copy(HOST, at, 1, stream));
        }
        ok(device.stream_synchronize(stream));
        ok(device.stream_destroy(stream));
    });
    clock
}

fn device_of_tasks() -> Device<Arena> {
    let options = Options {
        host_memory: false,
        ..Options::default()
    };
    let mut device = Device::new(Arena::new(1 << 16, DEVICE), options);
    device.begin("start").expect("nothing fails");
    device
}

#[test]
fn who_has_not_been_told_races() {
    let mut device = device_of_tasks();
    let a = alloc(&mut device, 1);
    let nothing = Clock::new();
    let one = access(&mut device, &nothing, a, true);
    access(&mut device, &one, a, true);
    assert_eq!(kinds(&mut device), []);
    access(&mut device, &nothing, a, false);
    assert_eq!(kinds(&mut device), [Kind::ReadAfterWrite]);
}

#[test]
fn the_host_knows_no_more_than_before() {
    let mut device = device_of_tasks();
    let a = alloc(&mut device, 1);
    let clock = access(&mut device, &Clock::new(), a, true);
    device.free(a).expect("it is there");
    assert_eq!(kinds(&mut device), [Kind::FreeInUse]);
    assert!(!clock.is_empty());
}

#[test]
fn accesses_of_host_memory_count_if_they_are_to() {
    for (host_memory, found) in [(false, vec![]), (true, vec![Kind::WriteAfterWrite])] {
        let mut device = device_of_tasks();
        device.options.host_memory = host_memory;
        let (a, b) = (alloc(&mut device, 1), alloc(&mut device, 1));
        access(&mut device, &Clock::new(), a, false);
        access(&mut device, &Clock::new(), b, false);
        assert_eq!(kinds(&mut device), found);
    }
}

#[test]
fn a_call_goes_on_after_others() {
    let mut device = device_of_tasks();
    let a = alloc(&mut device, 1);
    let early = device.begin_at("early", "here").expect("nothing fails");
    let late = device.begin_at("late", "there").expect("nothing fails");
    assert_eq!(
        (early.number + 1, early.place, late.place),
        (late.number, "here", "there")
    );
    access(&mut device, &Clock::new(), a, true);
    device.resume(early);
    access(&mut device, &Clock::new(), a, true);
    let finding = &device.findings()[0];
    assert_eq!((finding.at, finding.against), (early, Some(late)));
    assert_eq!(
        device.begin("last").expect("nothing fails").number,
        late.number + 1
    );
}

#[test]
fn findings_at_other_places_are_others() {
    let mut device = device_of_tasks();
    let a = alloc(&mut device, 1);
    for place in ["one", "two", "two", "two"] {
        device.begin_at("fill", place).expect("nothing fails");
        access(&mut device, &Clock::new(), a, true);
    }
    // Two against one, and two against two, twice.
    let repeated: Vec<u64> = device.findings().iter().map(|finding| finding.repeated).collect();
    assert_eq!(repeated, [0, 1]);
}

/// A task: what it accesses, whether it writes, and what it comes after, by how long ago that is.
type Task = (u8, bool, Vec<usize>);

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let task = (0..3u8, any::<bool>(), prop::collection::vec(1..6usize, 0..3));
    prop::collection::vec(task, 1..24)
}

proptest! {
    #[test]
    fn a_race_is_found_if_and_only_if_no_path_orders_two_tasks(tasks in tasks()) {
        let mut device = device_of_tasks();
        let bytes: Vec<u64> = (0..3).map(|_| alloc(&mut device, 1)).collect();
        let mut clocks: Vec<Clock> = Vec::new();
        let mut pasts: Vec<BTreeSet<usize>> = Vec::new();
        let mut races = false;
        for (number, (byte, writes, after)) in tasks.iter().enumerate() {
            let (mut clock, mut past) = (Clock::new(), BTreeSet::new());
            for before in after.iter().filter_map(|ago| number.checked_sub(*ago)) {
                clock.join(&clocks[before]);
                past.extend(pasts[before].iter().copied().chain([before]));
            }
            for (other, (other_byte, other_writes, _)) in tasks[..number].iter().enumerate() {
                let conflict = byte == other_byte && (*writes || *other_writes);
                races |= conflict && !past.contains(&other);
            }
            clocks.push(access(&mut device, &clock, bytes[usize::from(*byte)], *writes));
            pasts.push(past);
            prop_assert_eq!(!device.findings().is_empty(), races, "task {}", number);
        }
    }
}
