//! A record of what ran when, in the JSON format that Perfetto and `chrome://tracing` read.

use std::{
    cell::{Cell, RefCell},
    ffi::CStr,
    fmt::Write as _,
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A task that a thread has run; times in microseconds.
struct Event {
    name: String,
    start: f64,
    duration: f64,
}

/// Where to write what.
struct Trace {
    path: Option<String>,
    /// With the numbers of their threads.
    events: Vec<(usize, Event)>,
    threads: Vec<(usize, String)>,
}

static ENABLED: AtomicBool = AtomicBool::new(false);
static TRACE: Mutex<Trace> = Mutex::new(Trace {
    path: None,
    events: vec![],
    threads: vec![],
});
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(vec![]) };
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Starts a trace, which `finish` writes to a file.
pub fn start(path: &str) {
    LazyLock::force(&START);
    TRACE.lock().unwrap().path = Some(path.to_owned());
    ENABLED.store(true, Ordering::Relaxed);
}

/// The time that a task starts at, if there is a trace.
pub fn now() -> Option<Instant> {
    ENABLED.load(Ordering::Relaxed).then(Instant::now)
}

/// Notes a task that started at `start` and ends now.
pub fn note(name: &CStr, start: Instant) {
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let event = Event {
        name: name.to_string_lossy().into_owned(),
        start: micros(start.saturating_duration_since(*START)),
        duration: micros(start.elapsed()),
    };
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// Hands over what the calling thread has noted. Each thread does so before it ends or does something else.
pub fn flush() {
    let events = EVENTS.try_with(RefCell::take).unwrap_or_default();
    if events.is_empty() {
        return;
    }
    let mut trace = TRACE.lock().unwrap();
    let thread = THREAD.get().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        let name = std::thread::current().name().unwrap_or("thread").to_owned();
        trace.threads.push((number, name));
        THREAD.set(Some(number));
        number
    });
    trace
        .events
        .extend(events.into_iter().map(|event| (thread, event)));
}

/// Writes the trace, if there is one.
pub fn finish() {
    ENABLED.store(false, Ordering::Relaxed);
    let (path, text) = {
        let mut trace = TRACE.lock().unwrap();
        let Some(path) = trace.path.take() else { return };
        let text = trace.json();
        trace.events.clear();
        (path, text)
    };
    if let Err(error) = std::fs::write(&path, text) {
        eprintln!("asyncopt_rt: can't write the trace {path}: {error}");
    }
}

impl Trace {
    fn json(&self) -> String {
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        for (number, name) in &self.threads {
            let _ = write!(
                text,
                "\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{number},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}},",
                quoted(name)
            );
        }
        for (
            number,
            Event {
                name,
                start,
                duration,
            },
        ) in &self.events
        {
            let _ = write!(
                text,
                "\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{number},\"name\":{},\"ts\":{start:.3},\"dur\":{duration:.3}}},",
                quoted(name)
            );
        }
        if text.ends_with(',') {
            text.pop();
        }
        text.push_str("\n]}\n");
        text
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
