//! Which IP addresses belong to the public internet. Webhooks are only sent to those, unless the operator allows others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public: this host, private, shared, loopback, link-local, protocols, documentation, relays,
/// benchmarks, multicast, reserved.
const RESERVED_V4: [(Ipv4Addr, u32); 15] = [
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

/// Global unicast IPv6, and the reserved blocks in it: protocols such as Teredo, documentation.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const RESERVED_V6: [(Ipv6Addr, u32); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !RESERVED_V4.iter().any(|(first, bits)| (v4.to_bits() ^ first.to_bits()) >> (32 - bits) == 0)
        }
        IpAddr::V6(v6) => {
            let is_in =
                |(first, bits): &(Ipv6Addr, u32)| (v6.to_bits() ^ first.to_bits()) >> (128 - bits) == 0;
            match embedded_v4(v6) {
                Some(v4) => is_public(v4.into()),
                None => is_in(&GLOBAL_V6) && !RESERVED_V6.iter().any(is_in),
            }
        }
    }
}

/// The IPv4 address that an IPv6 address is routed to: mapped, compatible, translated (`64:ff9b::/96`), 6to4.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
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
    fn only_public_addresses_are_public() {
        let reserved = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 \
            172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 \
            198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 \
            ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1 \
            2002:a00:1::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 4000::1";
        for text in reserved.split_whitespace() {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        let public = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
            169.253.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 193.0.0.1 198.17.0.1 198.20.0.1 223.255.255.255 \
            2606:4700::1111 2a00:1450::1 64:ff9b::8.8.8.8 ::ffff:1.1.1.1 2002:808:808::1";
        for text in public.split_whitespace() {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
