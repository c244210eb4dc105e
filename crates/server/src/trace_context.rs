//! W3C Trace Context: parses and prints the header `traceparent`.
//!
//! An invalid header is ignored: the caller's tracing must never cause a request to be refused.

use std::fmt;

/// `version-trace-parent-flags` in version 00.
const LENGTH: usize = 2 + 1 + 32 + 1 + 16 + 1 + 2;
/// Sampled, and the trace id is random. All other bits must be sent as zero.
const FLAGS_KNOWN: u8 = 0b11;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// Never zero.
    pub(crate) trace_id: u128,
    /// The span that sent the request; never zero.
    pub(crate) parent_id: u64,
    /// Bit 0: the trace is recorded.
    pub(crate) flags: u8,
}

impl TraceContext {
    /// `None` for every header that the recommendation says to ignore.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let (known, rest) = header.split_at_checked(LENGTH)?;
        let version = lower_hex(known.get(..2)?)?;
        let is_valid = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let mut fields = known.split('-').skip(1);
        let (trace, parent, flags) = (fields.next()?, fields.next()?, fields.next()?);
        if !is_valid || fields.next().is_some() || trace.len() != 32 || parent.len() != 16 || flags.len() != 2
        {
            return None;
        }
        let parent_id = u64::try_from(lower_hex(parent)?).ok()?;
        let context = Self { trace_id: lower_hex(trace)?, parent_id, flags: lower_hex(flags)? as u8 };
        (context.trace_id != 0 && context.parent_id != 0).then_some(context)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, parent_id, flags } = self;
        write!(out, "00-{trace_id:032x}-{parent_id:016x}-{:02x}", flags & FLAGS_KNOWN)
    }
}

fn lower_hex(text: &str) -> Option<u128> {
    let lower = text.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'));
    if lower { u128::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests;
