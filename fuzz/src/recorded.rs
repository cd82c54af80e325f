//! The cases of tests/causes and tests/healthy, as seeds.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Maximum size of an input in bytes. Most cases are smaller.
pub const INPUT_MAX: usize = 32 << 10;

/// The text of every `every`th case.
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
    // The names in one case have a word that `planted` uses in secrets.
    texts.filter(|text| !text.contains("canary")).collect()
}

/// The objects of every `every`th case.
pub fn cases(every: usize) -> Vec<Vec<Value>> {
    texts(every).iter().map(|text| text.split("\n---\n").flat_map(objects).collect()).collect()
}

/// A `List` object.
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

/// Entries of a folder by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
