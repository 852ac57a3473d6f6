//! Prints the memory map of a kernel, and an error if it does not fit.

use super::buffers::Buffer;
use crate::analysis::buffer_flow::BufferFlow;
use crate::analysis::buffer_views::BufferViews;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::location::position;
use async_mlir::melior::ir::Location;
use async_mlir::pass::PassError;
use std::fmt::Write;
use tokenflow::packing::Layout;
use tokenflow::packing::lifetimes::Lifetimes;

/// Where the buffers of a function are.
pub(super) struct MemoryMap<'a, 'c> {
    pub function: Op<'c>,
    pub buffers: &'a [Buffer<'c>],
    pub layout: &'a Layout,
    pub lifetimes: &'a Lifetimes,
    pub flow: &'a BufferFlow<'c>,
    pub views: &'a BufferViews<'c>,
    /// Bytes of workgroup memory besides.
    pub unmoved: u64,
}

/// The most characters of a line that shows when a buffer is in use.
const COLUMNS: usize = 48;

impl<'c> MemoryMap<'_, 'c> {
    /// How many bytes fewer they are than without sharing.
    pub fn saved(&self) -> u64 {
        self.sum().saturating_sub(self.layout.bytes)
    }

    fn sum(&self) -> u64 {
        let bytes = self.buffers.iter().map(|buffer| buffer.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// A remark at the function, with a note at each buffer, from the lowest to the highest.
    pub fn remark(&self, is_static: bool, explain: bool) -> Option<Diagnostic<'c>> {
        if self.buffers.is_empty() {
            return None;
        }
        let (number, bytes, sum) = (self.buffers.len(), self.layout.bytes, self.sum());
        let kind = if is_static { "static" } else { "dynamic" };
        let plural = if number == 1 { "" } else { "s" };
        let mut message = format!(
            "packs {number} buffer{plural} of {sum} bytes into {bytes} bytes of {kind} workgroup memory"
        );
        if self.unmoved > 0 {
            let _ = write!(
                message,
                ", besides {} bytes that stay where they are",
                self.unmoved
            );
        }
        if !is_static {
            let _ = write!(message, ": launch the kernel with {bytes} bytes");
        }
        let remark = Diagnostic::remark(self.function.location(), message);
        let notes = self.by_offset().into_iter();
        let remark = notes.fold(remark, |remark, b| {
            remark.note(self.place(b), self.describe(b, explain))
        });
        Some(if explain {
            remark.note(self.function.location(), self.picture())
        } else {
            remark
        })
    }

    /// The error if all this is more than `most` bytes, what a block has on `chip`.
    pub fn too_large(&self, chip: &str, most: u64) -> PassError<'c> {
        let bytes = self.layout.bytes.saturating_add(self.unmoved);
        let message =
            format!("needs {bytes} bytes of workgroup memory, but a block has at most {most} on {chip}");
        let mut error = PassError::new(self.function, message);
        for b in self.by_offset() {
            let (name, bytes) = (self.buffers[b].name(), self.buffers[b].bytes);
            error = error.note(self.place(b), format!("{bytes} bytes: {name}"));
        }
        if self.unmoved > 0 {
            let message = format!(
                "{} bytes: globals that other functions use, and mbarriers",
                self.unmoved
            );
            error = error.note(self.function, message);
        }
        error
    }

    fn by_offset(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.buffers.len()).collect();
        order.sort_by_key(|&b| self.layout.offsets[b]);
        order
    }

    fn place(&self, b: usize) -> Location<'c> {
        self.buffers[b].location
    }

    fn describe(&self, b: usize, explain: bool) -> String {
        let (start, buffer) = (self.layout.offsets[b], &self.buffers[b]);
        let end = start + buffer.bytes;
        let mut text = format!(
            "bytes {start} to {end}: {}, in use {}",
            buffer.name(),
            self.life(b)
        );
        if explain {
            if let Some(escape) = self.views.escapes[b] {
                let _ = write!(text, ", since '{}' may keep it", escape.name());
            } else if self.lifetimes.occupied[b].is_none() {
                let _ = write!(
                    text,
                    ", since it may be read where nothing is written to it, or a load of it is over where that is not known"
                );
            }
        }
        text
    }

    /// When buffer `b` is in use.
    fn life(&self, b: usize) -> String {
        let Some(nodes) = &self.lifetimes.occupied[b] else {
            return "everywhere".to_owned();
        };
        let line = |node: Option<&usize>| node.and_then(|&node| position(self.flow.ops[node].location()));
        match (line(nodes.first()), line(nodes.last())) {
            (Some(first), Some(last)) if first.line == last.line => format!("on line {}", first.line),
            (Some(first), Some(last)) => format!("from line {} to {}", first.line, last.line),
            _ => "in part".to_owned(),
        }
    }

    /// A row for each buffer, from the lowest to the highest, and a column for each step of the function, or for a few.
    fn picture(&self) -> String {
        let steps = self.flow.ops.len();
        let columns = steps.clamp(1, COLUMNS);
        let lines = self.flow.ops.iter().filter_map(|op| position(op.location()));
        let (first, last) = lines.fold((u32::MAX, 0), |(first, last), at| {
            (first.min(at.line), last.max(at.line))
        });
        let rows = self.by_offset().into_iter().map(|b| {
            let (start, bytes) = (self.layout.offsets[b], self.buffers[b].bytes);
            (format!("{start} to {}", start + bytes), b)
        });
        let rows: Vec<(String, usize)> = rows.collect();
        let width = rows.iter().map(|(bytes, _)| bytes.len()).max().unwrap_or(0);
        let mut text = "where (bytes) and when (#) each buffer is in use:".to_owned();
        for (bytes, b) in rows {
            let _ = write!(
                text,
                "\n{bytes:>width$} |{}| {}",
                self.bar(b, columns),
                self.buffers[b].name()
            );
        }
        if first <= last {
            let (first, last) = (format!("line {first}"), format!("line {last}"));
            let gap = (columns + 2).saturating_sub(first.len() + last.len()).max(2);
            let _ = write!(text, "\n{:width$} {first}{:gap$}{last}", "", "");
        }
        text
    }

    /// A line of so many columns from the first step of the function to the last, with a mark where `b` is in use.
    fn bar(&self, b: usize, columns: usize) -> String {
        let steps = self.flow.ops.len();
        let mut bar = vec![self.lifetimes.occupied[b].is_none(); columns];
        for node in self.lifetimes.occupied[b].iter().flatten() {
            bar[node * columns / steps] = true;
        }
        bar.into_iter().map(|used| if used { '#' } else { '.' }).collect()
    }
}
