//! A device that is an adversary: operations end when a schedule says, memory is checked, and any call can fail.
//!
//! What an operation does is what [`Host`](crate::device::Host) does. Before, it waits at a gate, in its task, whose worker another one
//! replaces meanwhile. With the late schedule, the gate is shut while no code outside of tasks awaits anything: a program that reads a result without
//! awaiting its token does not find it. Then operations pass one by one.
//!
//! The model of the device (`async_device`) checks addresses, and counts calls. All that it does is done when a call returns, so it finds no races:
//! it does not know what tokens order.

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::BTreeSet,
    ffi::{CStr, c_void},
    ptr,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use async_device::{Adversary, Failure, Handle, Memory, Options};

use crate::{
    census::{self, Count},
    device::{self, Device, LaunchSizes, device},
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
    model: Mutex<async_device::Device<Room>>,
    gate: Mutex<Gate>,
    released: Condvar,
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
        if !schedule.is_empty() {
            options.schedule = schedule.parse()?;
        }
        Ok(Self::new(options))
    }

    fn new(options: Options) -> Self {
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
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Does something with the model, as call `name`.
    fn call<T>(
        &self,
        name: &'static str,
        what: impl FnOnce(&mut async_device::Device<Room>) -> Result<T, Failure>,
    ) -> Result<T, String> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let result = model.begin(name).and_then(|_| what(&mut model));
        result.map_err(|failure| failure.message)
    }

    /// Checks what a stream is given; it is done on return.
    fn check(
        &self,
        name: &'static str,
        what: impl FnOnce(&mut async_device::Device<Room>, Handle) -> Result<(), Failure>,
    ) -> Result<(), String> {
        self.call(name, |model| {
            let stream = model.stream_create();
            let result = what(model, stream);
            model.stream_synchronize(stream)?;
            model.stream_destroy(stream)?;
            result
        })
    }
}

impl Device for Simulated {
    fn alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        let _passed = self.pass();
        let address = self.call("gpux.alloc", |model| model.alloc(bytes as u64))?;
        census::add(Count::DeviceAllocations, 1);
        Ok(pointer(address).cast())
    }

    fn dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        let _passed = self.pass();
        self.call("gpux.dealloc", |model| model.free(address(pointer)))?;
        if !pointer.is_null() {
            census::add(Count::DeviceAllocations, -1);
        }
        Ok(())
    }

    fn host_alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        let _passed = self.pass();
        self.call("gpux.host_alloc", |_| Ok(()))?;
        device(0).host_alloc(bytes)
    }

    fn host_dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        let _passed = self.pass();
        self.call("gpux.dealloc of the host's memory", |_| Ok(()))?;
        device(0).host_dealloc(pointer)
    }

    unsafe fn transfer(
        &self,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), String> {
        let _passed = self.pass();
        let (to, from) = (address(destination), address(source.cast_mut()));
        self.check("gpux.transfer", |model, stream| {
            model.copy(to, from, bytes as u64, stream)
        })?;
        // SAFETY: as the caller promises.
        unsafe { device(0).transfer(destination, source, bytes) }
    }

    unsafe fn memset(&self, destination: *mut c_void, element: &[u8], count: usize) -> Result<(), String> {
        let _passed = self.pass();
        let to = address(destination);
        self.check("gpux.memset", |model, stream| {
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
        self.call("gpux.async_launch", |_| Ok(()))?;
        // SAFETY: as the caller promises.
        unsafe { device(0).launch(kernel, sizes, arguments) }
    }
}

/// Makes room for allocations, and leaves what is in it to the host's device.
struct Room;

const ALIGN: usize = 256;

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
        (!pointer.is_null()).then(|| address(pointer.cast()))
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
