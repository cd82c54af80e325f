//! The formats of `/metrics`: which one a client asks for, and the conversion to the text format of Prometheus.

use std::fmt::Write as _;

/// A format of `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text format 0.0.4 of Prometheus, which every scraper reads.
    Text,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

impl Format {
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that a client asks for, by the values of its `Accept` headers. It is `OpenMetrics` only if the client names
    /// it, and does not prefer text: by quality, then by order. A client that accepts neither gets text.
    pub fn accepted<'a>(headers: impl IntoIterator<Item = &'a str>) -> Self {
        let mut open_metrics: Option<Preference> = None;
        // The most specific range that covers text decides.
        let mut text: [Option<Preference>; 3] = [None; 3];
        let ranges = headers.into_iter().flat_map(|header| header.split(','));
        for (place, range) in ranges.enumerate() {
            let Some(range) = Range::parse(range) else { continue };
            let preference = Some(Preference { quality: range.quality, place });
            let known = match (range.name.as_str(), range.version) {
                ("application/openmetrics-text", None | Some("1.0.0" | "0.0.1")) => &mut open_metrics,
                ("text/plain", None | Some("0.0.4")) => &mut text[0],
                ("text/*", _) => &mut text[1],
                ("*/*", _) => &mut text[2],
                _ => continue,
            };
            if known.is_none_or(|known| known.quality < range.quality) {
                *known = preference;
            }
        }
        let text = text.into_iter().flatten().next();
        match open_metrics.filter(|preference| preference.quality > 0) {
            Some(open_metrics) if text.is_none_or(|text| open_metrics.is_before(text)) => Self::OpenMetrics,
            _ => Self::Text,
        }
    }
}

/// How much a client prefers a format.
#[derive(Debug, Clone, Copy)]
struct Preference {
    /// In thousandths.
    quality: u16,
    /// The position in the header.
    place: usize,
}

impl Preference {
    fn is_before(self, other: Self) -> bool {
        self.quality > other.quality || (self.quality == other.quality && self.place < other.place)
    }
}

/// A media range of an `Accept` header.
struct Range<'a> {
    name: String,
    version: Option<&'a str>,
    quality: u16,
}

impl<'a> Range<'a> {
    /// `None` for a range with an invalid quality.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        let (mut version, mut quality) = (None, 1000);
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match key.trim().to_ascii_lowercase().as_str() {
                "version" => version = Some(value),
                "q" => quality = thousandths(value)?,
                _ => {}
            }
        }
        Some(Self { name, version, quality })
    }
}

/// A quality in thousandths: `0.5` is 500. It is 0 to 1, with up to three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let below: u16 = format!("{decimals:0<3}").parse().ok()?;
    match whole {
        "0" => Some(below),
        "1" if below == 0 => Some(1000),
        _ => None,
    }
}

/// Converts `OpenMetrics` text to the text format 0.0.4: a counter has the name of its samples, and there are no units and no
/// end mark.
pub(super) fn to_text(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let total = if kind == "counter" { "_total" } else { "" };
            if let Some((_, text)) = help.take().filter(|(described, _)| *described == name) {
                let _ = writeln!(out, "# HELP {name}{total} {text}");
            }
            let _ = writeln!(out, "# TYPE {name}{total} {kind}");
        } else if !line.starts_with("# UNIT ") && line != "# EOF" {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Format::{OpenMetrics, Text};
    use super::*;

    #[test]
    fn open_metrics_is_served_only_to_clients_that_ask_for_it() {
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                            text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
                            text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, format) in [
            // curl, browsers, and clients without the header.
            ("*/*", Text),
            ("", Text),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Text),
            ("application/json", Text),
            ("application/*", Text),
            (prometheus_2, OpenMetrics),
            (prometheus_3, OpenMetrics),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8", OpenMetrics),
            ("application/openmetrics-text;q=0.001", OpenMetrics),
            // Another version than those that are served.
            ("application/openmetrics-text;version=2.0.0", Text),
            // The quality decides, then the order, then the more specific range.
            ("application/openmetrics-text;q=0.4,text/plain;q=0.5", Text),
            ("text/plain;q=0.4,application/openmetrics-text;q=0.5", OpenMetrics),
            ("text/plain,application/openmetrics-text", Text),
            ("application/openmetrics-text,text/plain", OpenMetrics),
            ("application/openmetrics-text;q=0.5,text/plain;q=0,*/*", OpenMetrics),
            ("application/openmetrics-text;q=0.5,text/*;q=0.2,*/*", OpenMetrics),
            // Not acceptable, or not a quality.
            ("application/openmetrics-text;q=0,*/*;q=0", Text),
            ("application/openmetrics-text;q=0.000", Text),
            ("application/openmetrics-text;q=high", Text),
            ("application/openmetrics-text;q=1.5", Text),
            ("application/openmetrics-text;q=0.1234", Text),
            (",;,=;q", Text),
        ] {
            assert_eq!(Format::accepted([accept]), format, "{accept}");
        }
        assert_eq!(Format::accepted([]), Text);
        assert_eq!(Format::accepted(["text/plain;q=0.1", "application/openmetrics-text"]), OpenMetrics, "two headers");
    }

    #[test]
    fn text_has_the_names_of_samples_and_no_units() {
        let open_metrics = "# HELP shindan_writes Write requests.\n\
             # TYPE shindan_writes counter\n\
             shindan_writes_total{verb=\"apply\"} 3\n\
             # HELP shindan_write_duration_seconds Duration.\n\
             # TYPE shindan_write_duration_seconds histogram\n\
             # UNIT shindan_write_duration_seconds seconds\n\
             shindan_write_duration_seconds_bucket{le=\"+Inf\"} 1\n\
             # EOF\n";
        let text = "# HELP shindan_writes_total Write requests.\n\
             # TYPE shindan_writes_total counter\n\
             shindan_writes_total{verb=\"apply\"} 3\n\
             # HELP shindan_write_duration_seconds Duration.\n\
             # TYPE shindan_write_duration_seconds histogram\n\
             shindan_write_duration_seconds_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(to_text(open_metrics), text);
    }
}
