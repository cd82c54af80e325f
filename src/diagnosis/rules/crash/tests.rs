//! Every recorded pod of these families, judged by the whole table.

use std::path::Path;

use crate::diagnosis::testing::Scenario;
use crate::diagnosis::{Health, diagnose};

fn causes_of(folder: &Path) -> Vec<(String, Option<(String, String)>)> {
    let mut out = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut scenario = Scenario::from_yaml(&text);
        if let Some(at) = text.lines().find_map(|l| l.strip_prefix("# recorded-at: ")) {
            scenario = scenario.at(at);
        }
        for pod in &scenario.pods {
            let case = scenario.case_of(&pod.key.name);
            let got = match diagnose(&case).health {
                Health::Well => None,
                Health::Failing(d) => Some((d.cause.to_string(), d.summary.clone())),
            };
            out.push((format!("{}/{}", file.display(), pod.key.name), got));
        }
    }
    out
}

#[test]
fn show() {
    for dir in ["tests/causes", "tests/healthy"] {
        let mut folders: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).filter(|p| p.is_dir()).collect();
        folders.sort();
        if dir == "tests/healthy" {
            folders = vec![dir.into()];
        }
        for folder in folders {
            for (name, got) in causes_of(&folder) {
                println!("{name}: {got:?}");
            }
        }
    }
}
