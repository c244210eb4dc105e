//! A block of IP addresses in CIDR notation: `10.0.0.0/8`, `::1`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// IPv4 is kept as mapped IPv6, so that a mapped address equals the address it maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressBlock {
    first: u128,
    prefix_bits: u32,
}

impl AddressBlock {
    /// Parses an address, optionally with a prefix length.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/').map_or((text, None), |(at, length)| (at, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length: u32 = length.map_or(Some(width), |length| length.parse().ok())?;
        (length <= width).then(|| Self { first: mapped_bits(address), prefix_bits: length + 128 - width })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let shift = 128 - self.prefix_bits;
        let prefix = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
        prefix(mapped_bits(address)) == prefix(self.first)
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from_bits(self.first).to_canonical() {
            address @ IpAddr::V4(_) => write!(f, "{address}/{}", self.prefix_bits.saturating_sub(96)),
            address @ IpAddr::V6(_) => write!(f, "{address}/{}", self.prefix_bits),
        }
    }
}

fn mapped_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_contains_the_addresses_with_its_prefix() {
        let block = |text: &str| AddressBlock::parse(text).unwrap();
        let contains = |text: &str, address: &str| block(text).contains(address.parse().unwrap());
        assert!(contains("127.0.0.0/8", "127.9.9.9") && !contains("127.0.0.0/8", "128.0.0.1"));
        assert!(contains("127.0.0.1/8", "127.0.0.9"), "bits after the prefix do not count");
        assert!(contains("10.1.2.3", "10.1.2.3") && !contains("10.1.2.3", "10.1.2.4"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1"), "a mapped address is the address it maps");
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe12::1"));
        assert!(contains("0.0.0.0/0", "1.2.3.4") && !contains("0.0.0.0/0", "2606::1"));
        assert!(contains("::/0", "1.2.3.4"));
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "a", "10.0.0.0/", "10.0.0.0/-1"] {
            assert_eq!(AddressBlock::parse(bad), None, "{bad}");
        }
    }
}
