//! What the rules of users and `--network` cost, beside an operator without them.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::lab::Lab;
use super::phases::{QUIET, STALL_TIMEOUT, update, whole};
use super::subject::{Running, Subject};

/// Rules of users.
const RULES: usize = 100;
/// The most that the rules may cost: memory in MiB, and the CPU time of an update as a ratio.
const RULES_MIB: f64 = 8.0;
const RULES_CPU: f64 = 1.05;
/// Status updates of healthy pods per second, and how long they are measured.
const RATE: u64 = 500;
const MEASURED: Duration = Duration::from_secs(20);
/// Each variant is measured this often, in turns; the lowest values count, as other processes only add to them.
const ROUNDS: usize = 3;

struct Variant {
    name: &'static str,
    flags: &'static [&'static str],
    rules: usize,
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "without them", flags: &[], rules: 0 },
    Variant { name: "100 rules", flags: &[], rules: RULES },
    Variant { name: "--network", flags: &["--network"], rules: 0 },
];

#[derive(Debug, Clone, Copy)]
struct Cost {
    peak_mib: f64,
    now_mib: f64,
    /// CPU time of an update, in microseconds.
    update_us: f64,
}

impl Cost {
    const MOST: Self = Self { peak_mib: f64::MAX, now_mib: f64::MAX, update_us: f64::MAX };

    fn lowest(self, other: Self) -> Self {
        Self {
            peak_mib: self.peak_mib.min(other.peak_mib),
            now_mib: self.now_mib.min(other.now_mib),
            update_us: self.update_us.min(other.update_us),
        }
    }
}

pub(crate) async fn compare(lab: &Lab) -> Result<()> {
    let mut costs = [Cost::MOST; VARIANTS.len()];
    for _ in 0..ROUNDS {
        for (variant, cost) in VARIANTS.iter().zip(&mut costs) {
            *cost = cost.lowest(measure(lab, variant).await?);
        }
    }
    let [without, rules, _] = costs;
    println!("| operator | peak (MiB) | at rest (MiB) | CPU of an update (us) | ratio |");
    println!("|---|---|---|---|---|");
    for (variant, cost) in VARIANTS.iter().zip(costs) {
        let ratio = cost.update_us / without.update_us;
        println!(
            "| {} | {:.1} | {:.1} | {:.0} | {ratio:.2} |",
            variant.name, cost.peak_mib, cost.now_mib, cost.update_us
        );
    }
    let more = rules.peak_mib - without.peak_mib;
    ensure!(more <= RULES_MIB, "{RULES} rules take {more:.1} MiB; the bound is {RULES_MIB}");
    let ratio = rules.update_us / without.update_us;
    ensure!(
        ratio <= RULES_CPU,
        "an update takes {ratio:.2} times the CPU with {RULES} rules; the bound is {RULES_CPU}"
    );
    Ok(())
}

async fn measure(lab: &Lab, variant: &Variant) -> Result<Cost> {
    apply_rules(lab, variant.rules)?;
    let mut running = Running::start_with(&lab.options, Subject::Operator, false, variant.flags)?;
    running.listed().await?;
    let expected = lab.failing();
    lab.sights.until("diagnoses", STALL_TIMEOUT, |sights| sights.count().0 >= expected).await?;
    lab.sights.settled(QUIET).await;
    let (peak_mib, now_mib) = running.memory()?;
    let (done, updated) = (AtomicBool::new(false), AtomicU64::new(0));
    let measuring = async {
        // The first second is not counted, because caches fill.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (cpu, count) = (running.cpu()?, updated.load(Ordering::Relaxed));
        tokio::time::sleep(MEASURED).await;
        let cost = (running.cpu()? - cpu) * 1e6 / whole(updated.load(Ordering::Relaxed) - count);
        done.store(true, Ordering::Relaxed);
        anyhow::Ok(cost)
    };
    let (updating, update_us) = futures::join!(update(lab, RATE, &done, &updated), measuring);
    updating?;
    running.kill().await?;
    lab.put_back().await?;
    Ok(Cost { peak_mib, now_mib, update_us: update_us? })
}

/// Creates rules, each with a test. No failure of the cluster matches them.
fn apply_rules(lab: &Lab, count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let rules: Vec<String> = (0..count).map(rule).collect();
    let mut kubectl = Command::new("kubectl")
        .args(["create", "-f", "-", "--kubeconfig"])
        .arg(&lab.options.kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("kubectl")?;
    std::io::Write::write_all(&mut kubectl.stdin.take().context("no input")?, rules.join("---\n").as_bytes())?;
    ensure!(kubectl.wait()?.success(), "the rules could not be created");
    Ok(())
}

fn rule(number: usize) -> String {
    format!(
        r#"
apiVersion: shindan.dev/v1alpha1
kind: DiagnosisRule
metadata: {{name: rule-{number}}}
spec:
  causes:
  - cause: bench.example/Failure{number}
    category: Crash
    signal: programError
    match: {{message: {{any: ["acme-{number}: * is locked", "acme code {number} of *"]}}, when: container.name != "sidecar-{number}"}}
    before: ["*"]
    summary: "{{container.display}} cannot open its store {number}: {{programError.message}}"
    explain: {{meaning: A store is locked., distinguish: The message has the number., action: Unlock it., source: store.go}}
    remedies: [{{text: Unlock store {number}., command: kubectl get pods -A}}]
  tests:
  - name: a locked store
    at: "2026-11-21T09:10:00Z"
    expect: bench.example/Failure{number}
    objects:
    - kind: Pod
      metadata: {{name: web, namespace: shop, uid: u1}}
      spec: {{containers: [{{name: web, image: web}}]}}
      status:
        phase: Running
        containerStatuses:
        - name: web
          restartCount: 4
          state: {{waiting: {{reason: CrashLoopBackOff}}}}
          lastState: {{terminated: {{exitCode: 1, reason: Error, message: "acme-{number}: main is locked", startedAt: "2026-11-21T09:08:58Z", finishedAt: "2026-11-21T09:09:00Z"}}}}
"#
    )
}
