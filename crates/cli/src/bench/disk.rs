//! What the disk alone can do: a block is written and made durable, again and again.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Durable writes per second, one after the other.
pub(super) fn syncs_per_second(folder: &Path, span: Duration) -> Result<f64> {
    let path = folder.join("bare.log");
    let mut file = std::fs::File::create(&path)?;
    let (begun, mut count) = (Instant::now(), 0_u32);
    while begun.elapsed() < span {
        file.write_all(&[b'x'; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    std::fs::remove_file(path)?;
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}
