//! `shindan rules rbac`: the permissions that the operator needs for custom resources.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use shindan_core::facts::CustomKind;

use super::Ending;
use crate::cli::cause_files;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Custom resources by plural and group, such as certificates.cert-manager.io
    #[arg(required_unless_present = "rules", value_name = "PLURAL.GROUP", value_delimiter = ',', value_parser = CustomKind::parse)]
    kinds: Vec<CustomKind>,
    /// Add the custom resources that these rules name in `match.kinds`; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    rules: Vec<PathBuf>,
    /// The service account of the operator
    #[arg(long, value_name = "NAME", default_value = "shindan")]
    service_account: String,
    /// The namespace of the operator
    #[arg(long, short, value_name = "NAMESPACE", default_value = "shindan-system")]
    namespace: String,
}

/// Without the rules and the subject.
const ROLE: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: shindan-kinds
  labels: {app.kubernetes.io/name: shindan}
rules:
";
const BINDING: &str = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: shindan-kinds
  labels: {app.kubernetes.io/name: shindan}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: shindan-kinds
subjects:
";

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    let of_rules = cause_files::read(&args.rules)?.fields();
    let kinds: BTreeSet<&CustomKind> = args.kinds.iter().chain(of_rules.kinds()).collect();
    anyhow::ensure!(!kinds.is_empty(), "--rules: no cause names kinds of custom resources in `match.kinds`");
    out.write_all(ROLE.as_bytes())?;
    for kind in kinds {
        writeln!(out, "- apiGroups: [{}]\n  resources: [{}]\n  verbs: [list, watch]", kind.group(), kind.plural())?;
    }
    out.write_all(BINDING.as_bytes())?;
    writeln!(out, "- kind: ServiceAccount\n  name: {}\n  namespace: {}", args.service_account, args.namespace)?;
    Ok(Ending::Good)
}
