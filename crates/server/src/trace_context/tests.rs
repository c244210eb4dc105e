//! Which headers are accepted, and which are ignored.

use super::*;

const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_valid_header_is_parsed_and_printed() {
    let read = TraceContext::parse(GOOD).unwrap();
    assert_eq!(read.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!(read.parent_id, 0x00f0_67aa_0ba9_02b7);
    assert_eq!(read.flags, 1);
    assert_eq!(read.to_string(), GOOD);
}

#[test]
fn the_known_part_of_a_later_version_is_parsed() {
    let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for header in [later.to_string(), format!("{later}-"), format!("{later}-what-comes-after")] {
        let read = TraceContext::parse(&header).unwrap();
        assert_eq!(read.to_string(), GOOD, "{header}");
    }
}

#[test]
fn unknown_flags_are_not_forwarded() {
    let read = TraceContext::parse(&GOOD.replace("-01", "-ff")).unwrap();
    assert_eq!(read.to_string(), GOOD.replace("-01", "-03"));
}

#[test]
fn invalid_headers_are_ignored() {
    let invalid = [
        String::new(),
        "00".into(),
        "é".repeat(40),
        format!("{}é", &GOOD[..54]),
        GOOD.to_uppercase(),
        GOOD.replacen("00-", "ff-", 1),
        GOOD.replacen("00-", "0g-", 1),
        GOOD.replacen("00-", "0-", 1),
        GOOD.replacen("00-", "000-", 1),
        GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
        GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
        GOOD.replace("4bf92f35", "4bf9+f35"),
        GOOD.replace("00f067aa", "00F067aa"),
        GOOD.replace("-01", "-0x"),
        GOOD.replace('-', "_"),
        GOOD.replace("35", "3-"),
        format!("{GOOD}-extra"),
        format!("{GOOD}0"),
        format!(" {GOOD}"),
        format!("{GOOD} "),
        format!("{GOOD}\n"),
        format!("cc{}0", &GOOD[2..]),
        GOOD[..54].into(),
        GOOD.repeat(1000),
    ];
    for header in invalid {
        assert_eq!(TraceContext::parse(&header), None, "{header:.80}");
    }
}
