//! SVG. What is too narrow to be seen is left out, so that a row has at most two bars for each pixel of its width.

use super::rows::{Content, Row, rows};
use super::{ITERATIONS, LEGEND, Picture, READ, WAIT, axis, color, color_in, escape};
use crate::timeline::{Flight, Iteration, Span};
use std::fmt::Write;

/// How wide a picture is that stands alone, and one that stands beside another.
const ALONE: f64 = 1200.0;
const BESIDE: f64 = 900.0;
/// Where cycle 0 is, and how much is left free after the last one.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
/// Where the axis and the rows of a picture begin.
const AXIS: f64 = 46.0;
const ROWS: f64 = 52.0;
/// The most ticks of an axis after the one at 0.
const TICKS: u64 = 10;
/// The width of a copy from which on it has ticks: narrower ones would be hidden by them.
const TICKED: f64 = 3.0;
/// The width of a digit of a label.
const DIGIT: f64 = 5.5;

/// Draws timelines: those of a group beside each other, the groups below each other, all on one scale.
#[must_use]
pub fn svg(groups: &[Vec<Picture>]) -> String {
    let all = groups.iter().flatten();
    let extent = all.map(|picture| picture.timeline.extent()).max().unwrap_or(0);
    let columns = groups.iter().map(Vec::len).max().unwrap_or(0);
    let width = if columns > 1 { BESIDE } else { ALONE };
    let (mut body, mut y) = (String::new(), 4.0);
    for group in groups {
        let mut bottom = y;
        let mut x = 0.0;
        for picture in group {
            let mut canvas = Canvas::new(width, extent);
            canvas.picture(picture);
            let _ = writeln!(
                body,
                "<svg x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width}\" height=\"{:.0}\">\n{}</svg>",
                canvas.y, canvas.body
            );
            bottom = f64::max(bottom, y + canvas.y);
            x += width;
        }
        y = bottom + 12.0;
    }
    legend(&mut body, y);
    #[allow(clippy::cast_precision_loss)] // A handful of columns.
    let (width, height) = (width * columns.max(1) as f64, y + 24.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn legend(body: &mut String, y: f64) {
    let mut x = 8.0;
    for (color, text) in LEGEND {
        let _ = writeln!(
            body,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"10\" height=\"10\" fill=\"{color}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{text}</text>",
            x + 14.0,
            y + 9.0
        );
        #[allow(clippy::cast_precision_loss)] // A line of text.
        let text = 5.7 * text.len() as f64;
        x += 30.0 + text;
    }
}

/// A picture, from its left upper corner on.
struct Canvas {
    body: String,
    y: f64,
    extent: u64,
    scale: f64,
    /// The last pixel that a bar of this row covers.
    covered: i64,
}

impl Canvas {
    fn new(width: f64, extent: u64) -> Self {
        Self {
            body: String::new(),
            y: 0.0,
            extent,
            #[allow(clippy::cast_precision_loss)] // It is a picture.
            scale: (width - LEFT - RIGHT) / (extent.max(1) as f64),
            covered: -1,
        }
    }

    fn picture(&mut self, picture: &Picture) {
        let rows = rows(picture.timeline);
        self.text(8.0, 14.0, "font-weight=\"bold\"", picture.title);
        self.text(8.0, 29.0, "", &picture.summary());
        let bottom = ROWS + rows.iter().map(height).sum::<f64>();
        self.axis(bottom);
        self.y = ROWS;
        for row in &rows {
            self.row(picture, row);
        }
        self.y = bottom + 2.0;
    }

    /// Labels round numbers of cycles, and draws a line through all rows at each.
    fn axis(&mut self, bottom: f64) {
        self.text(8.0, AXIS, "fill=\"#666\"", "cycle");
        for tick in axis::ticks(self.extent, TICKS) {
            let x = self.x(tick);
            let _ = writeln!(
                self.body,
                "<path d=\"M{x:.2} {:.0}V{bottom:.0}\" stroke=\"#ddd\"/>",
                AXIS + 3.0
            );
            self.text(
                x,
                AXIS,
                "class=\"tick\" fill=\"#666\" text-anchor=\"middle\"",
                &tick.to_string(),
            );
        }
    }

    fn row(&mut self, picture: &Picture, row: &Row) {
        let height = height(row);
        let bottom = self.y + height;
        self.y += gap(row);
        self.covered = -1;
        if !row.label.is_empty() {
            let baseline = match row.content {
                Content::Spans(_) => 11.0,
                _ => 8.0,
            };
            self.text(8.0, self.y + baseline, "", &row.label);
        }
        match &row.content {
            Content::Iterations(iterations) => self.iterations(picture, iterations),
            Content::Spans(spans) => {
                for span in *spans {
                    self.span(picture, span);
                }
            }
            Content::Copies(flights) => {
                for flight in flights {
                    self.flight(picture, flight);
                }
            }
        }
        self.y = bottom;
    }

    fn span(&mut self, picture: &Picture, span: &Span) {
        if self.is_seen(span.end) {
            self.bar(span.start, span.end, 14.0, color(span.kind), &picture.span(span));
        }
    }

    fn flight(&mut self, picture: &Picture, flight: &Flight) {
        if !self.is_seen(flight.lands) {
            return;
        }
        let color = color_in(&flight.lane);
        self.bar(flight.issued, flight.lands, 8.0, color, &picture.flight(flight));
        if self.x(flight.lands) - self.x(flight.issued) < TICKED {
            return;
        }
        for (at, color) in [(flight.observed, WAIT), (flight.read, READ)] {
            if let Some(at) = at {
                let x = self.x(at);
                let _ = writeln!(
                    self.body,
                    "<rect x=\"{x:.2}\" y=\"{:.1}\" width=\"1\" height=\"9\" fill=\"{color}\"/>",
                    self.y - 0.5
                );
            }
        }
    }

    /// Iterations, and on top of them their numbers, where there is room.
    fn iterations(&mut self, picture: &Picture, iterations: &[&Iteration]) {
        for iteration in iterations {
            if self.is_seen(iteration.end) {
                let color = ITERATIONS[(iteration.number % 2) as usize];
                let label = picture.iteration(iteration);
                self.bar(iteration.start, iteration.end, 11.0, color, &label);
            }
        }
        let mut free = 0.0;
        for iteration in iterations {
            let number = iteration.number.to_string();
            #[allow(clippy::cast_precision_loss)] // Some digits.
            let width = DIGIT * number.len() as f64;
            let middle = f64::midpoint(self.x(iteration.start), self.x(iteration.end));
            let x = f64::max(LEFT, middle - width / 2.0);
            if x >= free {
                let attributes = "class=\"iteration\" font-size=\"9\"";
                self.text(x, self.y + 9.0, attributes, &number);
                free = x + width + DIGIT;
            }
        }
    }

    /// Returns false if a bar that ends there, after those before it in its row, covers no pixel that they don't.
    fn is_seen(&mut self, end: u64) -> bool {
        #[allow(clippy::cast_possible_truncation)] // A pixel.
        let pixel = self.x(end) as i64;
        let is_new = pixel > self.covered;
        self.covered = self.covered.max(pixel);
        is_new
    }

    #[allow(clippy::cast_precision_loss)] // Cycles on a picture.
    fn x(&self, cycle: u64) -> f64 {
        LEFT + cycle as f64 * self.scale
    }

    fn bar(&mut self, start: u64, end: u64, height: f64, color: &str, label: &str) {
        let (x, width) = (self.x(start), (self.x(end) - self.x(start)).max(1.0));
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{color}\"><title>{}</title></rect>",
            self.y,
            escape(label)
        );
    }

    fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>"
        );
    }
}

/// How high a row is, with what is left free above.
fn height(row: &Row) -> f64 {
    let height = match row.content {
        Content::Iterations(_) => 12.0,
        Content::Spans(_) => 16.0,
        Content::Copies(_) => 10.0,
    };
    height + gap(row)
}

/// What is left free above a row.
fn gap(row: &Row) -> f64 {
    if row.first { 8.0 } else { 0.0 }
}
