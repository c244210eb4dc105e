//! Where webhooks may not go: addresses that are not the public internet's, unless the operator allows them. Names say
//! nothing, so every address that a name leads to is looked at, and again whenever a connection is made.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses: `10.0.0.0/8`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    first: u128,
    bits: u32,
}

impl Block {
    /// Reads an address, or one with the length of its prefix.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/').map_or((text, None), |(at, length)| (at, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let whole: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length: u32 = length.map_or(Some(whole), |length| length.parse().ok())?;
        (length <= whole).then(|| Self { first: number(address), bits: length + 128 - whole })
    }

    /// Whether the address is one of the block's.
    pub fn has(&self, address: IpAddr) -> bool {
        let shift = 128 - self.bits;
        let prefix = |number: u128| number.checked_shr(shift).unwrap_or(0);
        prefix(number(address)) == prefix(self.first)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from_bits(self.first).to_canonical() {
            address @ IpAddr::V4(_) => write!(f, "{address}/{}", self.bits.saturating_sub(96)),
            address @ IpAddr::V6(_) => write!(f, "{address}/{}", self.bits),
        }
    }
}

/// IPv4 as the mapped IPv6, so that both are numbers of one kind, and a mapped address is the one that it maps.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// What of IPv4 is not public: this host, private, shared, loopback, link-local, protocols, documentation, relays,
/// benchmarks, multicast, reserved.
const CLOSED_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The part of IPv6 that is given out to the public, and what of it is not meant for everyone: protocols, Teredo and
/// their like, documentation.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const CLOSED_V6: [(Ipv6Addr, u32); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is one of the public internet's.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !CLOSED_V4.iter().any(|(first, bits)| (v4.to_bits() ^ first.to_bits()) >> (32 - bits) == 0)
        }
        IpAddr::V6(v6) => {
            let is_in =
                |(first, bits): &(Ipv6Addr, u32)| (v6.to_bits() ^ first.to_bits()) >> (128 - bits) == 0;
            match inner(v6) {
                Some(v4) => is_public(v4.into()),
                None => is_in(&PUBLIC_V6) && !CLOSED_V6.iter().any(is_in),
            }
        }
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped, compatible, translated (`64:ff9b::/96`), 6to4.
fn inner(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = v6.segments();
    let last = || Ipv4Addr::from_bits(v6.to_bits() as u32);
    match parts {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last()),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let closed = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 \
            172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 \
            198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 \
            ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1 \
            2002:a00:1::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 4000::1";
        for text in closed.split_whitespace() {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        let open = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
            169.253.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 193.0.0.1 198.17.0.1 198.20.0.1 223.255.255.255 \
            2606:4700::1111 2a00:1450::1 64:ff9b::8.8.8.8 ::ffff:1.1.1.1 2002:808:808::1";
        for text in open.split_whitespace() {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_block_has_its_addresses() {
        let block = |text: &str| Block::parse(text).unwrap();
        let has = |text: &str, address: &str| block(text).has(address.parse().unwrap());
        assert!(has("127.0.0.0/8", "127.9.9.9") && !has("127.0.0.0/8", "128.0.0.1"));
        assert!(has("127.0.0.1/8", "127.0.0.9"), "the bits after the prefix do not count");
        assert!(has("10.1.2.3", "10.1.2.3") && !has("10.1.2.3", "10.1.2.4"));
        assert!(has("10.0.0.0/8", "::ffff:10.1.1.1"), "a mapped address is the one that it maps");
        assert!(has("fd00::/8", "fd12::1") && !has("fd00::/8", "fe12::1"));
        assert!(has("0.0.0.0/0", "1.2.3.4") && !has("0.0.0.0/0", "2606::1") && has("::/0", "1.2.3.4"));
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "a", "10.0.0.0/", "10.0.0.0/-1"] {
            assert_eq!(Block::parse(bad), None, "{bad}");
        }
    }
}
