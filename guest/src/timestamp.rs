//! RFC 3339 timestamps, as far as records use them: UTC, written with `Z`.
//!
//! The policy owns no clock; it only says whether a text names a real instant
//! and writes instants given as a number in the one canonical way.

use alloc::format;
use alloc::string::String;

const NANOS_PER_SECOND: u32 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Whether `text` is `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ` and names a real instant
/// (no leap second: records must order and convert everywhere).
pub(crate) fn is_canonical(text: &str) -> bool {
    text.len() == 30 && split(text).is_some()
}

/// `text`, which may have none to nine fractional digits, with nine.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (whole, fraction) = split(text)?;
    Some(format!("{whole}.{fraction:0<9}Z"))
}

/// The seconds of a real instant, and the digits of its fraction.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_suffix('Z')?;
    let (whole, fraction) = match rest.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (rest, ""),
    };
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let [
        y0,
        y1,
        y2,
        y3,
        b'-',
        mo0,
        mo1,
        b'-',
        d0,
        d1,
        b'T',
        h0,
        h1,
        b':',
        mi0,
        mi1,
        b':',
        s0,
        s1,
    ] = whole.as_bytes()
    else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0u32, |sum, digit| {
            let digit = digit.checked_sub(b'0').filter(|d| *d <= 9)?;
            Some(sum * 10 + u32::from(digit))
        })
    };
    let year = number(&[y0, y1, y2, y3])?;
    let month = number(&[mo0, mo1])?;
    let day = number(&[d0, d1])?;
    let real = (1..=days_in(year, month)).contains(&day)
        && number(&[h0, h1])? < 24
        && number(&[mi0, mi1])? < 60
        && number(&[s0, s1])? < 60;
    real.then_some((whole, fraction))
}

/// Days of a month; 0 for a month there is not.
fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    }
}

/// The instant `seconds` and `nanos` after 1970, canonically. Meant for what 64
/// bits of nanoseconds can say: the years 1677 to 2554.
fn from_unix(seconds: i64, nanos: u32) -> String {
    // Counting from a first of March puts the leap day at a year's end, and
    // lets 400 years be one period.
    let days = seconds.div_euclid(SECONDS_PER_DAY) + 719_468;
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{nanos:09}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
    )
}

/// The instant so many nanoseconds after 1970.
pub(crate) fn from_unix_nanos(nanos: u64) -> String {
    let per_second = u64::from(NANOS_PER_SECOND);
    // Both fit: a quotient below 2^35, a remainder below 10^9.
    from_unix(
        i64::try_from(nanos / per_second).unwrap_or(0),
        u32::try_from(nanos % per_second).unwrap_or(0),
    )
}

/// The instant so many nanoseconds after 1970, or before it.
pub(crate) fn from_signed_unix_nanos(nanos: i64) -> String {
    let per_second = i64::from(NANOS_PER_SECOND);
    from_unix(
        nanos.div_euclid(per_second),
        u32::try_from(nanos.rem_euclid(per_second)).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_spelling_is_canonical() {
        for good in [
            "2026-05-25T10:11:12.123456789Z",
            "2024-02-29T23:59:59.000000000Z",
            "2000-02-29T00:00:00.000000000Z",
            "0000-01-01T00:00:00.000000000Z",
        ] {
            assert!(is_canonical(good), "{good}");
        }
        for bad in [
            "",
            "2026-05-25T10:11:12Z",
            "2026-05-25T10:11:12.12345678Z",
            "2026-05-25T10:11:12.1234567890Z",
            "2026-05-25T10:11:12,123456789Z",
            "2026-05-25 10:11:12.123456789Z",
            "2026-05-25t10:11:12.123456789z",
            "2026-05-25T10:11:12.123456789+00:00",
            "2026-05-25T10:11:12.12345678 Z",
            "2026-02-29T10:11:12.123456789Z",
            "1900-02-29T10:11:12.123456789Z",
            "2026-04-31T10:11:12.123456789Z",
            "2026-00-10T10:11:12.123456789Z",
            "2026-13-10T10:11:12.123456789Z",
            "2026-05-00T10:11:12.123456789Z",
            "2026-05-25T24:00:00.000000000Z",
            "2026-05-25T10:60:12.123456789Z",
            "2026-06-30T23:59:60.000000000Z",
            "+026-05-25T10:11:12.123456789Z",
            "2026-05-25T10:11:12.12345678\u{665}Z",
        ] {
            assert!(!is_canonical(bad), "{bad}");
        }
    }

    #[test]
    fn fewer_digits_are_filled_up() {
        for (short, long) in [
            ("2026-05-25T10:11:12Z", "2026-05-25T10:11:12.000000000Z"),
            ("2026-05-25T10:11:12.5Z", "2026-05-25T10:11:12.500000000Z"),
        ] {
            assert_eq!(canonical(short).as_deref(), Some(long));
        }
        assert_eq!(canonical("2026-05-25T10:11:12.Z"), None);
    }

    #[test]
    fn numbers_become_instants() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399_000_000_001, "2000-02-28T23:59:59.000000001Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ] {
            assert_eq!(from_unix_nanos(nanos), text);
            assert!(is_canonical(text));
        }
        assert_eq!(from_signed_unix_nanos(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(
            from_signed_unix_nanos(i64::MIN),
            "1677-09-21T00:12:43.145224192Z"
        );
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_last() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097i64 {
            let expected = format!("{year:04}-{month:02}-{day:02}T00:00:00.000000000Z");
            assert_eq!(from_unix(days * SECONDS_PER_DAY, 0), expected);
            day += 1;
            if day > days_in(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2370, 1, 1));
    }
}
