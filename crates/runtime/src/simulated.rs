//! A device that is an adversary: operations end when a schedule says, memory is checked, and any call can fail.
//!
//! What an operation does is what [`Host`](crate::device::Host) does. Before, it waits at a gate, in its task, whose worker another one
//! replaces meanwhile. With the late schedule, the gate is shut while no code outside of tasks awaits anything: a program that reads a result without
//! awaiting its token does not find it. Then operations pass one by one.
//!
//! The model of the device (`async_device`) checks addresses, counts calls, and finds races: each operation is all that is in a stream of its own, which
//! knows what the task knows (`order`), and the task knows it afterwards. What a kernel accesses the launcher tells; without that, nothing is known of
//! it. Memory of the host is left out, but for what `gpux.host_alloc` allocates: nobody tells when it is freed and belongs to somebody else.

use std::{
    alloc::{Layout, alloc, dealloc},
    cell::RefCell,
    collections::BTreeSet,
    ffi::{CStr, c_void},
    ops::Range,
    ptr,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

use async_device::{Access, Accesses, Adversary, Call, Failure, Finding, Handle, Kernel, Memory, Options};

use crate::{
    census::{self, Count},
    device::{self, Device, LaunchSizes, device},
    order,
    pool::{POOL, Pool},
};

/// While this lives, code outside of tasks waits for some of them.
pub struct HostWaits(Option<&'static Simulated>);

/// Code outside of tasks begins to wait.
pub fn host_waits() -> HostWaits {
    let simulated = device::simulated();
    if let Some(simulated) = simulated {
        let mut gate = simulated.gate();
        gate.waits += 1;
        gate.release();
        simulated.released.notify_all();
    }
    HostWaits(simulated)
}

impl Drop for HostWaits {
    fn drop(&mut self) {
        if let Some(simulated) = self.0 {
            simulated.gate().waits -= 1;
        }
    }
}

/// The simulated device.
pub struct Simulated {
    model: Mutex<Model>,
    gate: Mutex<Gate>,
    released: Condvar,
    findings: AtomicU64,
}

/// Where operations wait.
struct Gate {
    adversary: Adversary,
    /// Those that do, by number.
    waiting: BTreeSet<u64>,
    next: u64,
    /// How many threads wait for tasks.
    waits: usize,
    /// Whether one that has passed goes on.
    is_busy: bool,
}

impl Gate {
    /// Lets one pass, if something has to.
    fn release(&mut self) {
        if self.waits == 0 || self.is_busy || self.waiting.is_empty() {
            return;
        }
        let chosen = self.adversary.choose(self.waiting.len());
        if let Some(&number) = self.waiting.iter().nth(chosen) {
            self.waiting.remove(&number);
            self.is_busy = true;
        }
    }
}

/// An operation that has passed the gate.
struct Passed<'a>(Option<&'a Simulated>);

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        if let Some(simulated) = self.0 {
            let mut gate = simulated.gate();
            gate.is_busy = false;
            gate.release();
            simulated.released.notify_all();
        }
    }
}

impl Simulated {
    /// The device with a schedule, or with that of the environment.
    pub fn of_schedule(schedule: &str) -> Result<Self, String> {
        let mut options = Options::from_environment(|message| eprintln!("asyncopt_rt: {message}"));
        options.host_memory = false;
        if !schedule.is_empty() {
            options.schedule = schedule.parse()?;
        }
        Ok(Self::new(options))
    }

    fn new(options: Options) -> Self {
        order::start();
        let gate = Gate {
            adversary: options.schedule.clone(),
            waiting: BTreeSet::new(),
            next: 0,
            waits: 0,
            is_busy: false,
        };
        Self {
            model: Mutex::new(async_device::Device::new(Room, options)),
            gate: Mutex::new(gate),
            released: Condvar::new(),
            findings: AtomicU64::new(0),
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the schedule lets an operation begin. One outside of tasks is waited for anyway.
    fn pass(&self) -> Passed<'_> {
        if !Pool::is_in_task() {
            return Passed(None);
        }
        let mut gate = self.gate();
        if gate.adversary.volunteer(1).is_some() {
            return Passed(None);
        }
        let number = gate.next;
        gate.next += 1;
        gate.waiting.insert(number);
        gate.release();
        self.released.notify_all();
        if gate.waiting.contains(&number) {
            drop(gate);
            POOL.begin_blocking();
            gate = self.gate();
            while gate.waiting.contains(&number) {
                gate = self.released.wait(gate).unwrap_or_else(PoisonError::into_inner);
            }
            drop(gate);
            POOL.end_blocking();
        }
        Passed(Some(self))
    }

    /// Does something with the model, as call `name` of whoever calls.
    fn call<T>(
        &self,
        name: &'static str,
        what: impl FnOnce(&mut Model) -> Result<T, Failure>,
    ) -> Result<T, String> {
        let place = device::site().location().map_or("", place);
        self.with_model(|model| {
            model.begin_at(name, place)?;
            what(model)
        })
    }

    /// The same, with a stream for it. What is there is done on return.
    fn call_in_stream<T>(
        &self,
        name: &'static str,
        what: impl FnOnce(&mut Model, Handle) -> Result<T, Failure>,
    ) -> Result<T, String> {
        self.call(name, |model| in_stream(model, what))
    }

    /// Does something with the model, which knows what the caller knows, and tells what it finds.
    fn with_model<T>(&self, what: impl FnOnce(&mut Model) -> Result<T, Failure>) -> Result<T, String> {
        order::with_caller(|clock| {
            let mut model = self.model();
            let result = model.acting(clock, what);
            let failure = result.as_ref().err();
            for finding in model.news() {
                // What is the error of the task is told where that is awaited.
                if failure
                    .is_none_or(|failure| failure.message != format!("{}: {}", finding.at, finding.message))
                {
                    self.findings.fetch_add(1, Ordering::Relaxed);
                    tell(finding);
                }
            }
            result.map_err(|failure| failure.message + &note(failure.against))
        })
    }

    /// How many different mistakes were found that are no errors of tasks.
    pub fn findings(&self) -> u64 {
        self.findings.load(Ordering::Relaxed)
    }

    /// Says what has been found more than once.
    pub fn report_repeated(&self) {
        let model = self.model();
        for finding in model.findings().iter().filter(|finding| finding.repeated > 0) {
            let (place, kind, more) = (at(finding.at), finding.kind.name(), finding.repeated);
            eprintln!("{place}note: {}: {kind}: {more} more like that", finding.at);
        }
    }

    /// Says what was done, and what nobody has freed.
    pub fn report_census(&self) {
        let model = self.model();
        let census = model.census();
        eprintln!(
            "asyncopt_rt: the simulated device: {} allocations of {} bytes, at most {} bytes at a time; {} copies, {} memsets, {} launches",
            census.allocations.made,
            census.bytes.made,
            census.bytes.peak,
            census.copies,
            census.memsets,
            census.launches
        );
        for call in model.not_freed() {
            eprintln!("{}note: {call}: nobody has freed this", at(call));
        }
    }
}

type Model = async_device::Device<Room>;

/// Does something in a stream of its own.
fn in_stream<T>(
    model: &mut Model,
    what: impl FnOnce(&mut Model, Handle) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let stream = model.stream_create();
    let result = what(model, stream);
    model.stream_synchronize(stream)?;
    model.stream_destroy(stream)?;
    result
}

/// A place in the program, which is kept: the program may be gone when a finding is told.
fn place(location: &CStr) -> &'static str {
    static PLACES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let location = location.to_string_lossy();
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = places.get(&*location) {
        return known;
    }
    let new: &'static str = Box::leak(location.into_owned().into_boxed_str());
    places.insert(new);
    new
}

/// Where a call is, for the beginning of a line.
fn at(call: Call) -> String {
    if call.place.is_empty() {
        String::new()
    } else {
        format!("{}: ", call.place)
    }
}

/// Reports a mistake at its place, and where the call is that it collides with.
fn tell(finding: &Finding) {
    eprintln!(
        "{}error: {}: {}{}",
        at(finding.at),
        finding.kind.name(),
        finding.message,
        note(finding.against)
    );
}

/// A line that says where a call is, if the program has said.
fn note(call: Option<Call>) -> String {
    let call = call.filter(|call| !call.place.is_empty());
    call.map_or(String::new(), |call| {
        format!("\n{}note: {call} is here", at(call))
    })
}

type Accessed = Vec<(Access, Range<u64>)>;

/// A kernel that has run, and what it has accessed.
struct Ran(Accessed);

impl Kernel for Ran {
    fn step(&mut self, _: &mut dyn Memory, accesses: &mut Accesses) -> Poll<Result<(), String>> {
        for (access, bytes) in self.0.drain(..) {
            accesses.add(access, bytes);
        }
        Poll::Ready(Ok(()))
    }
}

thread_local! {
    /// What the kernel has accessed that the launcher runs.
    static ACCESSES: RefCell<Option<Accessed>> = const { RefCell::new(None) };
}

/// A kernel that has passed may wait for others: they may pass, too.
pub fn let_others_pass() {
    if let Some(simulated) = device::simulated() {
        let mut gate = simulated.gate();
        gate.is_busy = false;
        gate.release();
        simulated.released.notify_all();
    }
}

/// Notes what a kernel has accessed.
pub fn note_access(access: Access, bytes: Range<u64>) {
    ACCESSES.with_borrow_mut(|accesses| {
        if let Some(accesses) = accesses {
            accesses.push((access, bytes));
        }
    });
}

impl Device for Simulated {
    fn alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        self.allocate("gpux.alloc", bytes)
    }

    fn dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        self.free("gpux.dealloc", pointer)
    }

    fn host_alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        self.allocate("gpux.host_alloc", bytes)
    }

    fn host_dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        self.free("gpux.dealloc of the host's memory", pointer)
    }

    fn host_register(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String> {
        self.call("gpu.host_register", |model| match bytes {
            0 => Ok(()),
            bytes => model.register(address(pointer), bytes as u64),
        })
    }

    fn host_unregister(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String> {
        self.call("gpu.host_unregister", |model| match bytes {
            0 => Ok(()),
            _ => model.unregister(address(pointer)),
        })
    }

    unsafe fn transfer(
        &self,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), String> {
        let _passed = self.pass();
        let (to, from) = (address(destination), address(source.cast_mut()));
        self.call_in_stream("gpux.transfer", |model, stream| {
            model.copy(to, from, bytes as u64, stream)
        })?;
        // SAFETY: as the caller promises.
        unsafe { device(0).transfer(destination, source, bytes) }
    }

    unsafe fn memset(&self, destination: *mut c_void, element: &[u8], count: usize) -> Result<(), String> {
        let _passed = self.pass();
        let to = address(destination);
        self.call_in_stream("gpux.memset", |model, stream| {
            model.fill(to, element, count as u64, stream)
        })?;
        // SAFETY: as the caller promises.
        unsafe { device(0).memset(destination, element, count) }
    }

    unsafe fn launch(
        &self,
        kernel: &CStr,
        sizes: &LaunchSizes,
        arguments: &[*mut c_void],
    ) -> Result<(), String> {
        let _passed = self.pass();
        let call = self.call("gpux.async_launch", |model| Ok(model.current()))?;
        ACCESSES.set(Some(vec![]));
        // SAFETY: as the caller promises.
        let result = unsafe { device(0).launch(kernel, sizes, arguments) };
        let ran = Box::new(Ran(ACCESSES.take().unwrap_or_default()));
        result?;
        self.with_model(|model| {
            model.resume(call);
            for (_, bytes) in &ran.0 {
                model.check_freed(bytes)?;
            }
            in_stream(model, |model, stream| model.launch_kernel(ran, stream))
        })
    }
}

impl Simulated {
    /// Where that ends which is there of some bytes.
    pub fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        self.model().extent(bytes)
    }

    fn allocate(&self, name: &'static str, bytes: usize) -> Result<*mut c_void, String> {
        let _passed = self.pass();
        let address = self.call_in_stream(name, |model, stream| model.alloc_async(bytes as u64, stream))?;
        census::add(Count::DeviceAllocations, 1);
        Ok(pointer(address).cast())
    }

    fn free(&self, name: &'static str, pointer: *mut c_void) -> Result<(), String> {
        let _passed = self.pass();
        self.call_in_stream(name, |model, stream| model.free_async(address(pointer), stream))?;
        if !pointer.is_null() {
            census::add(Count::DeviceAllocations, -1);
        }
        Ok(())
    }
}

/// Makes room for allocations, and leaves what is in it to the host's device.
struct Room;

const ALIGN: usize = 256;

/// What an allocation has in it that nobody has written.
const UNWRITTEN: u8 = 0xA5;

fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default())
}

fn address(pointer: *mut c_void) -> u64 {
    pointer.expose_provenance() as u64
}

fn layout(bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?, ALIGN).ok()
}

impl Memory for Room {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let layout = layout(bytes).filter(|layout| layout.size() > 0)?;
        // SAFETY: it has a byte or more.
        let pointer = unsafe { alloc(layout) };
        if pointer.is_null() {
            return None;
        }
        // SAFETY: there is room for so many bytes.
        unsafe { pointer.write_bytes(UNWRITTEN, layout.size()) };
        Some(address(pointer.cast()))
    }

    fn deallocate(&mut self, address: u64, bytes: u64) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: `allocate` has returned it for as many bytes.
            unsafe { dealloc(pointer(address), layout) };
        }
    }

    fn copy(&mut self, _: u64, _: u64, _: u64) {}

    fn read(&self, _: u64, _: &mut [u8]) {}

    fn write(&mut self, _: u64, _: &[u8]) {}
}
