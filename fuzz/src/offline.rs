//! Files of any content. Reading stays within the memory limit and reports what it cannot read. An invalid document does not
//! affect the documents after it. The diagnoses meet the conditions of `sound`.

use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::wire::Dump;

use super::{recorded, sound};

/// Memory limit for the objects of a file, in bytes.
const ROOM: usize = 1 << 20;
/// The most problems that are reported, and one for the omitted ones.
const PROBLEMS_MAX: usize = 51;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if sound::contains_secret(&text, false) {
        return;
    }
    let dump = read(&text);
    let has_capacity = !dump.is_full() && dump.problems.len() < PROBLEMS_MAX - 1;
    if has_capacity && !text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        let more = read(&format!("{text}\n---\nkind: Node\nmetadata: {{name: good}}\n"));
        assert!(more.is_full() || more.nodes.last().is_some_and(|node| &*node.name == "good"), "{:?}", more.problems);
    }
    dump.pods.iter().for_each(sound::is_kept_whole);
    let now = dump.newest.unwrap_or(Timestamp::UNIX_EPOCH);
    let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default().for_snapshot());
    report.pods.iter().for_each(sound::is_clean);
    report.nodes_and_workloads.iter().for_each(sound::is_clean);
}

fn read(text: &str) -> Dump {
    let mut dump = Dump::within(ROOM);
    dump.read(text);
    let lines = text.matches('\n').count() + 1;
    assert!(dump.problems.len() <= PROBLEMS_MAX);
    for problem in &dump.problems {
        assert!((1..=lines + 1).contains(&problem.line), "{problem:?} in {lines} lines");
        assert!(problem.document >= 1 && !problem.message.is_empty());
    }
    dump
}

/// The cases as YAML and as JSON, and syntax that no case has.
pub fn seeds(every: usize) -> Vec<Vec<u8>> {
    const ODD: [&str; 12] = [
        "",
        "\u{feff}kind: Pod\nmetadata: {name: b, managedFields: [{x: 1}]}\n...\n",
        "{kind: PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}",
        "{\"kind\": PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}",
        "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Pod\", oops\n",
        "[{\"kind\": \"List\", \"items\": [{\"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}}]}, [[]]]",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "kind: Pod\na: &a {k: v}\nb:\n- {<<: *a}\n- {<<: *a}\n",
        "kind: Pod\nkind: Pod\nmetadata: {name: twice}\n---\nkind: Node\nmetadata: {name: n}\n",
        "kind: Pod\nmetadata: {name: !!binary aGk=}\nspec: |\n  text\n? [key]\n: value\n",
        "kind: Pod\nmetadata: {name: big}\nspec: {priority: 99999999999999999999999999, a: .nan, b: 0x1F, c: 1e400}\n",
        "kind: List\nitems:\n- &a {kind: Pod, metadata: {name: a}}\n- *a\n",
    ];
    let as_yaml = recorded::texts(every).into_iter();
    let as_json = recorded::cases(4 * every).into_iter().map(|objects| recorded::list(&objects).to_string());
    let all = ODD.into_iter().map(str::to_owned).chain(as_yaml).chain(as_json).map(String::into_bytes);
    all.filter(|seed| seed.len() <= recorded::INPUT_MAX).collect()
}
