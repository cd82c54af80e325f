//! Parsing and formatting of Kubernetes quantities (`500m`, `128Mi`, `1e3`).

/// Parses a quantity such as `2`, `0.5` or `250m` to milli-CPUs.
pub fn parse_cpu(text: &str) -> Option<i64> {
    scaled(text, 1000.0)
}

/// Parses a quantity such as `15Mi`, `1G` or `4096` to whole units: bytes, pods, devices.
pub fn parse_bytes(text: &str) -> Option<i64> {
    scaled(text, 1.0)
}

/// Rounds up like the API, so that a request is never counted too low.
#[allow(clippy::cast_possible_truncation, reason = "a float outside i64 saturates, and no node has 2^63 of anything")]
fn scaled(text: &str, scale: f64) -> Option<i64> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(i, c)| {
            !(c.is_ascii_digit() || *c == '.' || ((*c == '+' || *c == '-') && *i == 0)) && !is_exponent(text, *i)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, suffix) = text.split_at(split);
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        "Ei" => 1_152_921_504_606_846_976.0,
        _ => return None,
    };
    let value: f64 = number.parse().ok()?;
    let product = value * factor * scale;
    // 0.1 * 1000 is 100.00000000000001 in binary, so results this close to a whole number are rounded to it.
    let nearest = product.round();
    Some(if (product - nearest).abs() < 1e-6 { nearest } else { product.ceil() } as i64)
}

/// Whether position `i` belongs to an exponent such as `e3` or `E-2`, and not to the suffix `E` or `Ei`.
fn is_exponent(text: &str, i: usize) -> bool {
    let bytes = text.as_bytes();
    let digit_at = |j: usize| bytes.get(j).is_some_and(u8::is_ascii_digit);
    match bytes[i] {
        b'e' | b'E' => digit_at(i + 1) || (matches!(bytes.get(i + 1), Some(b'+' | b'-')) && digit_at(i + 2)),
        b'+' | b'-' => i > 0 && matches!(bytes[i - 1], b'e' | b'E') && digit_at(i + 1),
        _ => false,
    }
}

/// Formats `1500` milli-CPUs as `1500m`, `2000` as `2`.
pub fn format_cpu(milli: i64) -> String {
    if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{milli}m") }
}

/// Formats bytes in the largest readable binary unit: `15Mi`, `1.5Gi`, `900`.
#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn format_bytes(bytes: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    for (unit, size) in UNITS {
        if bytes.abs() >= size {
            let rounded = format!("{:.1}", bytes as f64 / size as f64);
            return format!("{}{unit}", rounded.strip_suffix(".0").unwrap_or(&rounded));
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_quantity_formats_of_the_api_are_parsed() {
        for (text, milli) in [("2", 2000), ("0.5", 500), ("250m", 250), ("0.1", 100), ("1e3", 1_000_000), ("100u", 1)] {
            assert_eq!(parse_cpu(text), Some(milli), "{text}");
        }
        for (text, bytes) in [
            ("15Mi", 15 << 20),
            ("1G", 1_000_000_000),
            ("1Ei", 1 << 60),
            ("1E", 1_000_000_000_000_000_000),
            ("12E2", 1200),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "x", "1X", "Mi", "1..2"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_are_formatted_readably() {
        assert_eq!(format_bytes(15 << 20), "15Mi");
        assert_eq!(format_bytes(3 << 29), "1.5Gi");
        assert_eq!(format_bytes(900), "900");
        assert_eq!(format_cpu(1500), "1500m");
        assert_eq!(format_cpu(64_000), "64");
    }
}
