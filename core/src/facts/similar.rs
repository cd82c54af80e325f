//! Detects names that are likely misspelt.

/// Whether two different names look like a misspelling: equal but for case and separators, or at most two letters apart
/// (one for short names). Names that differ only in digits (`zone-a1`, `zone-a2`) are intentionally different.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    if a == b || differ_in_last_letter(a, b) {
        return false;
    }
    let plain = |s: &str| s.chars().filter(|c| !"-_. ".contains(*c)).flat_map(char::to_lowercase).collect::<String>();
    let (a, b) = (plain(a), plain(b));
    if a == b {
        return !a.is_empty();
    }
    let letters = |s: &str| s.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    if letters(&a) == letters(&b) {
        return false;
    }
    let (of_a, of_b) = (a.chars().count(), b.chars().count());
    let shorter = of_a.min(of_b);
    let sorted = |s: &str| {
        let mut sorted: Vec<char> = s.chars().collect();
        sorted.sort_unstable();
        sorted
    };
    let allowed = match shorter {
        // Two of three letters may be swapped.
        3 if sorted(&a) == sorted(&b) || is_doubled(&a, &b) || is_doubled(&b, &a) => 1,
        0..=3 => return false,
        4..=6 => 1,
        _ => 2,
    };
    of_a.abs_diff(of_b) <= allowed && distance(&a, &b) <= allowed
}

/// Whether the first name is the second one with one letter typed twice: `webb`.
fn is_doubled(longer: &str, shorter: &str) -> bool {
    let mut once: Vec<char> = longer.chars().collect();
    once.dedup();
    longer.chars().count() == shorter.chars().count() + 1 && once.iter().copied().eq(shorter.chars())
}

/// Like [`alike`], for node names. As these are mostly generated, the last part and the parts with a number distinguish
/// them.
pub(crate) fn alike_hosts(a: &str, b: &str) -> bool {
    let parts = |s: &str| s.split(['-', '.', '_']).map(str::to_lowercase).collect::<Vec<_>>();
    let (x, y) = (parts(a), parts(b));
    let is_own = |place: usize, part: &str| place + 1 == x.len() || part.contains(|c: char| c.is_ascii_digit());
    let pairs = x.iter().zip(&y).enumerate();
    x.concat() == y.concat() && a != b
        || alike(a, b) && x.len() == y.len() && pairs.into_iter().all(|(place, (x, y))| x == y || !is_own(place, x))
}

/// Whether the names differ only in a single last letter, as `zone-a` and `zone-b`, or `eu-1b` and `eu-1c`.
fn differ_in_last_letter(a: &str, b: &str) -> bool {
    let (Some(x), Some(y)) = (a.chars().next_back(), b.chars().next_back()) else { return false };
    let (a, b) = (&a[..a.len() - x.len_utf8()], &b[..b.len() - y.len_utf8()]);
    a == b && a.ends_with(|c: char| c.is_ascii_digit() || "-_.".contains(c))
}

/// Edit distance (insert, delete, replace, swap neighbours) between two names.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_a_misspelt_node_from_a_deleted_one() {
        for (a, b) in [("Node1", "node1"), ("node-1", "node1"), ("wroker-1", "worker-1")] {
            assert!(alike_hosts(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("node2", "node1"),
            ("worker-a7f3", "worker-b7f3"),
            ("gke-pool-kfjq", "gke-pool-kfjw"),
            ("ip-10-0-0-12", "ip-10-0-0-13"),
            ("node1", "node1"),
        ] {
            assert!(!alike_hosts(a, b), "{a} {b}");
        }
    }

    #[test]
    fn distinguishes_a_misspelt_name_from_a_different_one() {
        for (a, b) in [
            ("disktype", "disk-type"),
            ("disktype", "distkype"),
            ("Ssd", "ssd"),
            ("memory", "memroy"),
            ("web", "wbe"),
            ("webb", "web"),
            ("api", "appi"),
        ] {
            assert!(alike(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("ssd", "hdd"),
            ("zone-a1", "zone-a2"),
            ("amd64", "arm64x"),
            ("gpu", "cpu"),
            ("webs", "web"),
            ("web1", "web"),
            ("same", "same"),
            ("eu-1b", "eu-1c"),
            ("pool-a", "pool-b"),
        ] {
            assert!(!alike(a, b), "{a} {b}");
        }
    }
}
