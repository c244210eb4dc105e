//! Integers of requests, as JSON Schema defines them: a number without a fractional part, so `5`, `5.0` and `50e-1` are the
//! same integer.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// No integer of a request has more digits.
const DIGITS_MAX: usize = 20;

/// For a field that may hold an integer.
pub(crate) fn option<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + TryFrom<i128>,
{
    let number = Option::<Box<RawValue>>::deserialize(from)?;
    number.map(|number| read(number.get()).map_err(D::Error::custom)).transpose()
}

/// For a field that holds an integer.
pub(crate) fn required<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + TryFrom<i128>,
{
    read(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
}

/// For a field that may be absent and is not null.
pub(crate) fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + TryFrom<i128>,
{
    required(from).map(Some)
}

fn read<T: DeserializeOwned + TryFrom<i128>>(number: &str) -> Result<T, String> {
    serde_json::from_str(number).or_else(|error| {
        let integer = integer_of(number).and_then(|integer| T::try_from(integer).ok());
        // The caller adds the position in the whole text.
        let message = error.to_string();
        integer.ok_or_else(|| message.split(" at line ").next().unwrap_or(&message).to_owned())
    })
}

/// The value of a JSON number; `None` if it is not a number, has a fractional part, or has too many digits. Computed from the
/// digits: a float does not distinguish large integers.
fn integer_of(number: &str) -> Option<i128> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or((1, mantissa), |rest| (-1, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let zeros = i64::from(exponent) - fraction.len() as i64 + (all.len() - digits.len()) as i64;
    let digits = digits.trim_start_matches('0');
    let zeros = usize::try_from(zeros).ok().filter(|zeros| digits.len() + zeros <= DIGITS_MAX)?;
    format!("{digits}{:0<zeros$}", "").parse::<i128>().ok().map(|value| sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_every_notation() {
        for (text, value) in [
            ("0", 0),
            ("5295", 5295),
            ("5295.0", 5295),
            ("-0", 0),
            ("-0.0", 0),
            ("52.95e2", 5295),
            ("5295000e-3", 5295),
            ("0.0000e99", 0),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX),
            ("18446744073709551615.0", u64::MAX),
            ("1.8446744073709551615e19", u64::MAX),
        ] {
            assert_eq!(read(text), Ok(value), "{text}");
        }
        assert_eq!(read("-12.0"), Ok(-12_i64));
    }

    #[test]
    fn other_numbers_and_other_values_are_refused() {
        let wrong =
            ["1.5", "-1", "-1.0", "1e-1", "18446744073709551616.0", "1e400", "1e20", "true", "\"5\"", "[5]"];
        for text in wrong {
            assert!(read::<u64>(text).is_err(), "{text}");
        }
        assert_eq!(read::<u64>("\"5\""), Err("invalid type: string \"5\", expected u64".to_owned()));
        assert_eq!(read::<u64>("1.5"), Err("invalid type: floating point `1.5`, expected u64".to_owned()));
    }
}
