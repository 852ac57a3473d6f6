//! Timelines: writes the files that were asked for, and says how long all takes.

use super::Kept;
use super::arguments::{Drawing, Options};
use anyhow::{Context, Result};
use async_sim::draw::{self, Picture};
use std::path::Path;

/// Draws the kernels, and those of another file `beside` them.
pub fn write(kernels: &[Kept], beside: &[Kept], options: &Options) -> Result<()> {
    let titled = |kept| (kept, title(kept));
    let groups: Vec<Vec<(&Kept, String)>> = pairs(kernels, beside)
        .into_iter()
        .map(|pair| pair.into_iter().map(titled).collect())
        .collect();
    let groups: Vec<Vec<Picture>> = groups
        .iter()
        .map(|group| {
            group
                .iter()
                .filter_map(|(kept, title)| picture(kept, title))
                .collect()
        })
        .collect();
    for drawing in &options.timeline {
        match drawing {
            Drawing::Svg(path) => save(path, &draw::svg(&groups))?,
            Drawing::Html(path) => save(path, &draw::html(&groups))?,
        }
    }
    let all = || groups.iter().flatten();
    if let Some(path) = &options.trace {
        save(path, &draw::trace(all()).to_string())?;
    }
    for picture in all().filter(|_| !options.json) {
        println!("{}: {}", picture.title, picture.summary());
    }
    Ok(())
}

/// Each kernel with the one of its name of the other file, or with the only one there is; then what is left of those.
fn pairs<'k>(kernels: &'k [Kept], beside: &'k [Kept]) -> Vec<Vec<&'k Kept>> {
    let alone = kernels.len() == 1 && beside.len() == 1;
    let mut left: Vec<&Kept> = beside.iter().collect();
    let mut pairs = Vec::new();
    for kernel in kernels {
        let mut pair = vec![kernel];
        let is_other = |other: &&Kept| alone || other.kernel == kernel.kernel;
        pair.extend(left.iter().position(is_other).map(|other| left.remove(other)));
        pairs.push(pair);
    }
    pairs.extend(left.into_iter().map(|other| vec![other]));
    pairs
}

fn title(kept: &Kept) -> String {
    format!("{} in {}", kept.kernel, kept.path)
}

fn picture<'k>(kept: &'k Kept, title: &'k str) -> Option<Picture<'k>> {
    Some(Picture {
        title,
        listing: &kept.listing,
        iterations: &kept.iterations,
        timeline: kept.timeline.as_ref()?,
    })
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))
}
