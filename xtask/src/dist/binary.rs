//! What the packages must know about the binary: its architecture, and the oldest glibc that can run it.

use anyhow::{Context, Result, bail};

const MAGIC: &[u8] = b"\x7fELF";
/// Offset of `e_machine`, two bytes in little endian.
const MACHINE: usize = 18;
const GLIBC: &[u8] = b"GLIBC_2.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    Amd64,
    Arm64,
}

impl Architecture {
    /// Debian's name.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Rust's name of the target.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elf {
    pub(super) architecture: Architecture,
    /// The newest version of glibc that a symbol needs, such as `2.34`.
    pub(super) glibc: String,
}

impl Elf {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(MAGIC) {
            bail!("not an ELF file");
        }
        let architecture = match bytes.get(MACHINE..MACHINE + 2) {
            Some([0x3e, 0]) => Architecture::Amd64,
            Some([0xb7, 0]) => Architecture::Arm64,
            other => bail!("unknown architecture {other:?}"),
        };
        let minor = glibc_minors(bytes).max().context("not linked with glibc")?;
        Ok(Self { architecture, glibc: format!("2.{minor}") })
    }
}

/// The version names in the table of dynamic strings.
fn glibc_minors(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let strings = bytes.split(|byte| *byte == 0).filter_map(|string| string.strip_prefix(GLIBC));
    strings.filter_map(|rest| {
        let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        // Other text, such as a message, is not a version.
        let is_version = matches!(rest.get(digits), None | Some(b'.'));
        std::str::from_utf8(&rest[..digits]).ok().filter(|_| is_version)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8, strings: &str) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[MACHINE] = machine;
        bytes.extend(strings.as_bytes());
        bytes
    }

    #[test]
    fn the_newest_glibc_symbol_decides() {
        let read = Elf::read(&elf(0x3e, "GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_2.99 is text\0")).unwrap();
        assert_eq!(read, Elf { architecture: Architecture::Amd64, glibc: "2.34".into() });
        assert_eq!(Elf::read(&elf(0xb7, "GLIBC_2.17\0")).unwrap().architecture.debian(), "arm64");
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Elf::read(b"#!/bin/sh\n").is_err());
        assert!(Elf::read(&elf(3, "GLIBC_2.17\0")).is_err());
        assert!(Elf::read(&elf(0x3e, "")).is_err());
    }
}
