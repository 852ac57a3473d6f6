//! What the device does, call by call.

mod garbage;
mod random;
mod tasks;

use crate::*;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use std::task::Poll;

/// An address of the host.
const HOST: u64 = 1 << 12;

/// Where allocations of the device begin.
const DEVICE: u64 = 1 << 13;

pub fn device(schedule: Adversary) -> Device<Arena> {
    let options = Options {
        schedule,
        ..Options::default()
    };
    let mut device = Device::new(Arena::new(1 << 16, DEVICE), options);
    device.begin("start").expect("nothing fails");
    device
}

fn late() -> Device<Arena> {
    device(Adversary::Late)
}

fn kinds(device: &mut Device<Arena>) -> Vec<Kind> {
    device.news().iter().map(|finding| finding.kind).collect()
}

fn alloc(device: &mut Device<Arena>, bytes: u64) -> u64 {
    device.alloc(bytes).expect("there is room")
}

fn byte(device: &Device<Arena>, at: u64) -> u8 {
    let mut bytes = [0];
    device.memory().read(at, &mut bytes);
    bytes[0]
}

fn ok(result: Result<(), Failure>) {
    result.expect("the call is right");
}

#[test]
fn late_work_runs_when_the_host_waits_and_no_sooner() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    let stream = device.stream_create();
    ok(device.fill(a, &[1], 8, stream));
    assert_ne!(byte(&device, a), 1);
    ok(device.stream_synchronize(stream));
    assert_eq!(byte(&device, a), 1);
}

#[test]
fn early_work_runs_at_once() {
    let mut device = device(Adversary::Early);
    let a = alloc(&mut device, 8);
    let stream = device.stream_create();
    ok(device.fill(a, &[1], 8, stream));
    assert_eq!(byte(&device, a), 1);
}

#[test]
fn late_work_of_other_streams_stays() {
    let mut device = late();
    let (a, b) = (alloc(&mut device, 1), alloc(&mut device, 1));
    let (one, other) = (device.stream_create(), device.stream_create());
    ok(device.fill(a, &[1], 1, one));
    ok(device.fill(b, &[1], 1, other));
    ok(device.stream_synchronize(one));
    assert_eq!(byte(&device, a), 1);
    assert_ne!(byte(&device, b), 1);
}

#[test]
fn a_wait_is_for_the_last_record_before_it() {
    let mut device = late();
    let (a, b) = (alloc(&mut device, 1), alloc(&mut device, 1));
    let (one, other) = (device.stream_create(), device.stream_create());
    let event = device.event_create();
    ok(device.fill(a, &[1], 1, one));
    ok(device.event_record(event, one));
    ok(device.stream_wait_event(other, event));
    ok(device.fill(b, &[2], 1, one));
    ok(device.event_record(event, one));
    ok(device.copy(HOST, a, 1, other));
    ok(device.stream_synchronize(other));
    assert_eq!(byte(&device, HOST), 1);
    assert_ne!(byte(&device, b), 2);
    ok(device.event_synchronize(event));
    assert_eq!(byte(&device, b), 2);
    assert_eq!(kinds(&mut device), []);
}

#[test]
fn a_wait_holds_a_stream_up_under_each_schedule() {
    for seed in 0..50 {
        let mut device = device(Adversary::Random(seed));
        let a = alloc(&mut device, 1);
        let (one, other) = (device.stream_create(), device.stream_create());
        let event = device.event_create();
        ok(device.fill(a, &[1], 1, one));
        ok(device.event_record(event, one));
        ok(device.stream_wait_event(other, event));
        ok(device.copy(HOST, a, 1, other));
        ok(device.stream_synchronize(other));
        assert_eq!(byte(&device, HOST), 1);
        assert_eq!(kinds(&mut device), []);
    }
}

#[test]
fn an_event_may_be_destroyed_with_waits_pending() {
    let mut device = late();
    let a = alloc(&mut device, 1);
    let (one, other) = (device.stream_create(), device.stream_create());
    let event = device.event_create();
    ok(device.fill(a, &[1], 1, one));
    ok(device.event_record(event, one));
    ok(device.stream_wait_event(other, event));
    ok(device.event_destroy(event));
    ok(device.stream_destroy(one));
    ok(device.stream_synchronize(other));
    assert_eq!(byte(&device, a), 1);
    assert_eq!(kinds(&mut device), []);
}

#[test]
fn handles_have_types() {
    let mut device = late();
    let (stream, event) = (device.stream_create(), device.event_create());
    assert!(device.event_synchronize(stream).is_err());
    assert!(device.stream_synchronize(event).is_err());
    assert!(device.stream_destroy(Handle(1234)).is_err());
    assert!(device.event_destroy(Handle::NULL).is_err());
    ok(device.event_synchronize(event));
    ok(device.stream_destroy(stream));
    assert!(device.stream_synchronize(stream).is_err());
    assert!(device.stream_destroy(stream).is_err());
    let expected = [
        Kind::WrongHandle,
        Kind::NotAHandle,
        Kind::NullHandle,
        Kind::NeverRecorded,
        Kind::UseAfterDestroy,
        Kind::DoubleDestroy,
    ];
    assert_eq!(kinds(&mut device), expected);
    // The same between the same calls is one finding.
    assert_eq!(device.findings()[0].repeated, 1);
}

#[test]
fn null_is_the_default_stream_and_a_finding() {
    let mut device = late();
    let a = alloc(&mut device, 1);
    ok(device.fill(a, &[1], 1, Handle::NULL));
    ok(device.stream_synchronize(Handle::NULL));
    assert_eq!(byte(&device, a), 1);
    assert_eq!(kinds(&mut device), [Kind::NullHandle]);
}

#[test]
fn races_are_found_where_the_values_agree() {
    for schedule in [Adversary::Late, Adversary::Early, Adversary::Random(3)] {
        let mut device = device(schedule);
        let (a, b) = (alloc(&mut device, 8), alloc(&mut device, 8));
        let (one, other) = (device.stream_create(), device.stream_create());
        device.begin("fill").expect("nothing fails");
        ok(device.fill(a, &[1], 8, one));
        device.begin("copy").expect("nothing fails");
        ok(device.copy(b, a + 4, 4, other));
        device.synchronize();
        let found = device.findings();
        assert_eq!(found.len(), 1);
        let names = [found[0].at.name, found[0].against.expect("two calls").name];
        assert!(names.contains(&"fill") && names.contains(&"copy"), "{names:?}");
    }
}

#[test]
fn a_wait_of_the_host_orders_streams() {
    let mut device = late();
    let (a, b) = (alloc(&mut device, 8), alloc(&mut device, 8));
    let (one, other) = (device.stream_create(), device.stream_create());
    ok(device.fill(a, &[1], 8, one));
    ok(device.stream_synchronize(one));
    ok(device.copy(b, a, 8, other));
    ok(device.stream_synchronize(other));
    assert_eq!(kinds(&mut device), []);
}

#[test]
fn the_host_races_with_the_device_where_it_says_what_it_accesses() {
    let mut device = late();
    let (a, at) = (alloc(&mut device, 8), HOST);
    let stream = device.stream_create();
    ok(device.register(at, 8));
    ok(device.copy(at, a, 8, stream));
    device.host_access(at..at + 1, false);
    ok(device.stream_synchronize(stream));
    device.host_access(at..at + 8, true);
    assert_eq!(kinds(&mut device), [Kind::WriteAfterRead]);
}

#[test]
fn memory_may_not_be_freed_in_use() {
    for schedule in [Adversary::Late, Adversary::Early] {
        let mut device = device(schedule);
        let a = alloc(&mut device, 8);
        let stream = device.stream_create();
        ok(device.fill(a, &[1], 8, stream));
        ok(device.free(a));
        ok(device.stream_synchronize(stream));
        assert_eq!(kinds(&mut device), [Kind::FreeInUse]);
    }
}

#[test]
fn memory_of_a_stream_is_there_in_the_order_of_the_stream() {
    let mut device = late();
    let (one, other) = (device.stream_create(), device.stream_create());
    let event = device.event_create();
    let a = device.alloc_async(8, one).expect("there is room");
    ok(device.fill(a, &[1], 8, one));
    ok(device.free_async(a, one));
    let b = device.alloc_async(8, one).expect("there is room");
    ok(device.event_record(event, one));
    ok(device.stream_wait_event(other, event));
    ok(device.fill(b, &[1], 8, other));
    assert_eq!(kinds(&mut device), []);
    // It is not ordered after the fill.
    ok(device.free_async(b, one));
    device.synchronize();
    assert_eq!(kinds(&mut device), [Kind::FreeInUse]);
    assert!(device.fill(a, &[1], 8, one).is_err());
    assert_eq!(kinds(&mut device), [Kind::UseAfterFree]);
}

#[test]
fn addresses_are_checked() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    let stream = device.stream_create();
    assert!(device.fill(a, &[1], 9, stream).is_err());
    assert!(device.copy(a - 4, HOST, 4, stream).is_err());
    ok(device.copy(a + 4, a + 2, 4, stream));
    assert!(device.free(a + 4).is_err());
    assert!(device.free(HOST).is_err());
    assert!(device.unregister(HOST).is_err());
    ok(device.register(HOST, 16));
    assert!(device.register(HOST + 8, 4).is_err());
    assert!(device.register(a, 4).is_err());
    ok(device.unregister(HOST));
    device.synchronize();
    ok(device.free(a));
    assert!(device.free(a).is_err());
    assert!(device.fill(HOST, &[1], 4, stream).is_err());
    let expected = [
        Kind::OutOfBounds,
        Kind::Overlap,
        Kind::UnknownPointer,
        Kind::DoubleRegister,
        Kind::DoubleFree,
    ];
    assert_eq!(kinds(&mut device), expected);
}

#[test]
fn null_is_nobodys_memory() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    let stream = device.stream_create();
    assert!(device.copy(a, 8, 8, stream).is_err());
    assert!(device.copy(0, a, 8, stream).is_err());
    ok(device.free(0));
    assert_eq!(kinds(&mut device), [Kind::UnknownPointer]);
}

#[test]
fn the_end_says_what_is_left() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    let (one, other) = (device.stream_create(), device.stream_create());
    device.event_create();
    ok(device.fill(a, &[1], 8, one));
    ok(device.fill(a, &[1], 8, other));
    device.finish();
    let expected = [Kind::WriteAfterWrite, Kind::NeverAwaited, Kind::Leak];
    assert_eq!(kinds(&mut device), expected);
    // It is not run any more: the host's memory may be gone.
    assert_ne!(byte(&device, a), 1);
    assert_eq!(device.census().streams.alive, 2);
    assert!(!device.census().is_clean());
}

#[test]
fn functions_of_the_host_run_in_order() {
    let mut device = late();
    let a = alloc(&mut device, 1);
    let stream = device.stream_create();
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    ok(device.fill(a, &[1], 1, stream));
    let function = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    ok(device.host_function(Box::new(function), stream));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    ok(device.stream_synchronize(stream));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Sets a flag, and runs until the other one is set.
struct Spin {
    mine: u64,
    other: u64,
}

impl Kernel for Spin {
    fn step(&mut self, memory: &mut dyn Memory, accesses: &mut Accesses) -> Poll<Result<(), String>> {
        memory.write(self.mine, &[1]);
        accesses.add(Access::Atomic, self.mine..self.mine + 1);
        accesses.add(Access::Atomic, self.other..self.other + 1);
        let mut flag = [0];
        memory.read(self.other, &mut flag);
        match flag {
            [1] => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }
}

#[test]
fn kernels_that_wait_for_each_other_end() {
    let schedules = [Adversary::Late, Adversary::Early];
    for schedule in schedules.into_iter().chain((0..20).map(Adversary::Random)) {
        let mut device = device(schedule);
        let flags = alloc(&mut device, 2);
        let (one, other) = (device.stream_create(), device.stream_create());
        ok(device.fill(flags, &[0], 2, one));
        ok(device.stream_synchronize(one));
        let spin = |mine, other| Box::new(Spin { mine, other });
        ok(device.launch_kernel(spin(flags, flags + 1), one));
        ok(device.launch_kernel(spin(flags + 1, flags), other));
        ok(device.stream_synchronize(one));
        ok(device.stream_synchronize(other));
        assert_eq!(kinds(&mut device), []);
        assert!(device.is_idle());
    }
}

#[test]
fn kernels_that_never_end_are_given_up() {
    let mut device = late();
    let flags = alloc(&mut device, 2);
    let stream = device.stream_create();
    let spin = Spin {
        mine: flags,
        other: flags + 1,
    };
    ok(device.launch_kernel(Box::new(spin), stream));
    ok(device.fill(flags, &[1], 2, stream));
    ok(device.stream_synchronize(stream));
    assert_eq!(kinds(&mut device), [Kind::NoEnd]);
    assert!(device.is_idle());
}

/// Fails at once.
struct Fails;

impl Kernel for Fails {
    fn step(&mut self, _: &mut dyn Memory, _: &mut Accesses) -> Poll<Result<(), String>> {
        Poll::Ready(Err("an assertion fails".to_owned()))
    }
}

impl Function for Fails {
    fn launch(
        &self,
        _: &LaunchSizes,
        _: &[u64],
        _: &dyn Memory,
        _: Extent<'_>,
    ) -> Result<Box<dyn Kernel>, String> {
        Ok(Box::new(Fails))
    }
}

impl Module for Fails {
    fn function(&self, name: &str) -> Result<Box<dyn Function>, String> {
        match name {
            "fails" => Ok(Box::new(Fails)),
            _ => Err(format!("there is no kernel '{name}'")),
        }
    }
}

impl Loader for Fails {
    fn load(&mut self, _: &[u8]) -> Result<Box<dyn Module>, String> {
        Ok(Box::new(Fails))
    }
}

const SIZES: LaunchSizes = LaunchSizes {
    grid: [1; 3],
    block: [1; 3],
    cluster: [1; 3],
    workgroup_bytes: 0,
};

#[test]
fn modules_come_from_a_loader() {
    let mut device = late();
    device.set_loader(Box::new(Fails));
    let stream = device.stream_create();
    let module = device.module_load(b"anything");
    assert!(device.module_function(module, "other").is_err());
    let function = device.module_function(module, "fails").expect("it is there");
    assert_eq!(device.module_function(module, "fails"), Ok(function));
    assert_eq!(kinds(&mut device), [Kind::NoKernel]);
    ok(device.launch(function, &SIZES, &[], stream));
    ok(device.stream_synchronize(stream));
    assert_eq!(kinds(&mut device), [Kind::KernelFailed]);
    ok(device.module_unload(module));
    assert!(device.launch(function, &SIZES, &[], stream).is_err());
    assert_eq!(kinds(&mut device), [Kind::UseAfterDestroy]);
}

#[test]
fn what_can_not_be_loaded_does_nothing() {
    let images: [(&[u8], &str); 3] = [
        (b"//\n.version 8.0\n.target sm_80", "PTX"),
        (b"\x7fELF\x02", "a cubin"),
        (b"?", "of an unknown format"),
    ];
    for (image, format) in images {
        let mut device = late();
        let stream = device.stream_create();
        let module = device.module_load(image);
        let function = device.module_function(module, "k").expect("a module has it");
        ok(device.launch(function, &SIZES, &[], stream));
        ok(device.stream_synchronize(stream));
        assert_eq!(device.census().empty_launches, 1);
        let message = &device.findings()[0].message;
        assert!(message.contains(format), "{message}");
    }
}

type Call<'a> = &'a dyn Fn(&mut Device<Arena>) -> Result<(), Failure>;

/// A program that does not look at errors, as MLIR's wrappers don't.
fn fork_and_join(device: &mut Device<Arena>) {
    let null = Handle::NULL;
    let mut call = |f: &mut dyn FnMut(&mut Device<Arena>) -> Handle| match device.begin("call") {
        Ok(_) => f(device),
        Err(_) => null,
    };
    let [one, other] = [(); 2].map(|()| call(&mut Device::stream_create));
    let event = call(&mut Device::event_create);
    let memory = call(&mut |device| Handle(device.alloc(8).unwrap_or(0)));
    let calls: [Call; 9] = [
        &|device| device.fill(memory.0, &[1], 8, one),
        &|device| device.event_record(event, one),
        &|device| device.stream_wait_event(other, event),
        &|device| device.copy(HOST, memory.0, 8, other),
        &|device| device.stream_synchronize(other),
        &|device| device.free(memory.0),
        &|device| device.event_destroy(event),
        &|device| device.stream_destroy(one),
        &|device| device.stream_destroy(other),
    ];
    for what in calls {
        call(&mut |device| {
            let _ = what(device);
            null
        });
    }
}

#[test]
fn each_call_can_fail() {
    for fail_at in 0..14 {
        let options = Options {
            fail_at: Some(fail_at),
            ..Options::default()
        };
        let mut device = Device::new(Arena::new(1 << 16, DEVICE), options);
        fork_and_join(&mut device);
        device.finish();
        let fine = device.findings().is_empty() && device.census().is_clean();
        // A memset that has not happened is nothing that the device could see; what was not destroyed is left.
        assert_eq!(
            fine,
            [0, 5, 8].contains(&fail_at),
            "{fail_at}: {:?}",
            device.findings()
        );
        assert_eq!(device.census().is_clean(), fail_at < 10, "{fail_at}");
    }
}

#[test]
fn exhaustive_schedules_reach_every_order() {
    let mut adversary = Some(Adversary::exhaustive());
    let mut seen = std::collections::BTreeSet::new();
    let mut runs = 0;
    while let Some(now) = adversary {
        let mut device = device(now);
        let a = alloc(&mut device, 1);
        for value in 1..=3 {
            let stream = device.stream_create();
            ok(device.fill(a, &[value], 1, stream));
        }
        device.synchronize();
        seen.insert(byte(&device, a));
        runs += 1;
        adversary = device.adversary().clone().next();
    }
    assert_eq!(seen, [1, 2, 3].into());
    assert!(runs > 6 && runs < 200, "{runs}");
}

#[test]
fn schedules_have_names() {
    assert_eq!("late".parse(), Ok(Adversary::Late));
    assert_eq!("random:7".parse(), Ok(Adversary::Random(7)));
    assert!("random:x".parse::<Adversary>().is_err());
    assert!("sometimes".parse::<Adversary>().is_err());
}

#[test]
fn streams_made_in_a_loop_take_no_more_clock() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    for _ in 0..100 {
        let stream = device.stream_create();
        ok(device.fill(a, &[1], 8, stream));
        ok(device.stream_destroy(stream));
        // The host doesn't know yet that the fill is done, and the next stream may not take its timeline.
        let other = device.stream_create();
        ok(device.stream_synchronize(other));
        ok(device.stream_destroy(other));
        device.synchronize();
    }
    let other = device.stream_create();
    assert!(device.streams.all[&other].timeline.0 < 5);
}

#[test]
fn what_is_there_of_some_bytes_ends_with_their_allocation() {
    let mut device = late();
    let a = alloc(&mut device, 8);
    assert_eq!(device.extent(&(a..a + 4)), Ok(a + 4));
    assert_eq!(device.extent(&(a + 4..a + 400)), Ok(a + 8));
    // Beside it nothing is there.
    assert_eq!(device.extent(&(a + 9..a + 400)), Ok(a + 9));
    assert_eq!(device.extent(&(a - 2..a + 400)), Ok(a + 8));
    // The host's memory is believed to be there, and what was freed a moment ago is.
    assert_eq!(device.extent(&(HOST..HOST + 400)), Ok(HOST + 400));
    ok(device.free(a));
    assert_eq!(device.extent(&(a..a + 400)), Ok(a + 8));
}

#[test]
fn room_that_was_given_back_is_not_there() {
    const LARGE: u64 = 65 << 20;
    let mut device = Device::new(Arena::new(100 << 20, DEVICE), Options::default());
    device.begin("start").expect("nothing fails");
    let a = alloc(&mut device, LARGE);
    ok(device.free(a));
    device.begin("later").expect("nothing fails");
    let stream = device.stream_create();
    ok(device.stream_synchronize(stream));
    let gone = device.extent(&(a + 8..a + 12)).expect_err("it is gone");
    assert_eq!(
        gone,
        "uses 4 bytes of an allocation that start (call 1) has freed"
    );
}
