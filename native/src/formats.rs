//! The text formats of `schemas/formats.py`.

/// Return whether a text is 8-4-4-4-12 hexadecimal digits.
pub fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Return whether a text is an RFC 3339 date-time of a real instant, as `parse_time` reads it.
pub fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && is_moment(&bytes[..19]) && zone(&bytes[19..]).is_some_and(is_zone)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}

fn is_below(digits: &[u8], limit: u32) -> bool {
    number(digits).is_some_and(|number| number < limit)
}

fn is_moment(bytes: &[u8]) -> bool {
    let separators = [bytes[4], bytes[7], bytes[10], bytes[13], bytes[16]];
    separators == *b"--T::"
        && is_date(&bytes[..4], &bytes[5..7], &bytes[8..10]).is_some_and(|date| date)
        && is_below(&bytes[11..13], 24)
        && is_below(&bytes[14..16], 60)
        && is_below(&bytes[17..19], 60)
}

fn is_date(year: &[u8], month: &[u8], day: &[u8]) -> Option<bool> {
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    Some((1..=days).contains(&day))
}

/// Return what follows the fraction, which has one to nine digits if there is one.
fn zone(bytes: &[u8]) -> Option<&[u8]> {
    if bytes[0] != b'.' {
        return Some(bytes);
    }
    let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=9).contains(&digits).then(|| &bytes[1 + digits..])
}

fn is_zone(bytes: &[u8]) -> bool {
    match bytes {
        b"Z" => true,
        [b'+' | b'-', hours @ .., b':', m1, m2] if hours.len() == 2 => {
            is_below(hours, 24) && is_below(&[*m1, *m2], 60)
        }
        _ => false,
    }
}
