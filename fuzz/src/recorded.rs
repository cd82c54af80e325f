//! What real clusters said, for a run to begin with: the cases of tests/causes and tests/healthy.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The most bytes of an input: more than most of the cases.
pub const INPUT_MAX: usize = 32 << 10;

/// The texts of each `every`th case.
pub fn texts(every: usize) -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("tests"));
    let tests = tests.into_iter().find(|folder| folder.join("causes").is_dir()).unwrap();
    let folders = entries(&tests.join("causes")).into_iter().chain([tests.join("healthy")]);
    let is_case = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".yaml")
    };
    let cases = folders.flat_map(|folder| entries(&folder)).filter(is_case).step_by(every);
    let texts = cases.map(|case| fs::read_to_string(case).unwrap());
    // One was recorded with a word in its names that is planted as a secret elsewhere.
    texts.filter(|text| !text.contains("canary")).collect()
}

/// Each `every`th case as a list of its objects.
pub fn cases(every: usize) -> Vec<Vec<Value>> {
    texts(every).iter().map(|text| text.split("\n---\n").flat_map(objects).collect()).collect()
}

/// A list, as it is read.
pub fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn objects(document: &str) -> Vec<Value> {
    let value: Value = serde_saphyr::from_str(document).unwrap();
    match value {
        Value::Object(mut list) if list.contains_key("items") => match list.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        Value::Null => Vec::new(),
        object => vec![object],
    }
}

/// By name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
