//! Messages of controllers around the error of another component, and what a summary shows of them: the object and the reason,
//! which stand at the end.

use super::fit_error;

/// Characters of the message of an object in a summary.
const MOST: usize = 140;

const SYNC: &str = "Failed last sync attempt to [4f8e1c2d3b5a6978c0d1e2f3a4b5c6d7e8f90a1b]: ";
const APPLY: &str = "Failed last sync attempt to [4f8e1c2d3b5a6978c0d1e2f3a4b5c6d7e8f90a1b]: one or more objects failed to apply, reason: ";
const HELM: &str = "Helm install failed for release shop/checkout with chart checkout@3.4.1+4f8e1c2d3b5a: ";
const BUILD: &str = "kustomize build failed: accumulating resources: accumulation err='accumulating resources from ";

/// Wrapper, error and what is shown. Sources: argo-cd controller/appcontroller.go, gitops-engine pkg/sync/sync_context.go;
/// helm-controller internal/reconcile/install.go, helm cmd/helm/install.go, pkg/action, pkg/engine; kustomize
/// api/internal/target/kusttarget.go, kyaml/filesys/fsondisk.go; apimachinery pkg/util/validation/field.
const MESSAGES: &[(&str, &str, &str)] = &[
    (
        APPLY,
        r#"Deployment.apps "checkout" is invalid: spec.selector: Invalid value: {"matchLabels":{"app.kubernetes.io/instance":"checkout","app.kubernetes.io/name":"checkout"}}: field is immutable (retried 5 times)."#,
        r#"Failed last sync attempt to [4f8e1c2d3b5a…]: … Deployment.apps "checkout" is invalid: spec.selector: Invalid value: field is immutable"#,
    ),
    (
        APPLY,
        r#"Deployment.apps "checkout" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app.kubernetes.io/instance":"checkout", "app.kubernetes.io/name":"checkout"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable (retried 5 times)."#,
        r#"Failed last sync attempt to [4f8e1c2d3b5a…]: … Deployment.apps "checkout" is invalid: spec.selector: … v1.LabelSelector: field is immutable"#,
    ),
    (
        APPLY,
        r#"Internal error occurred: failed calling webhook "validate.nginx.ingress.kubernetes.io": failed to call webhook: Post "https://ingress-nginx-controller-admission.ingress-nginx.svc:443/networking/v1/ingresses?timeout=10s": dial tcp 10.96.14.2:443: connect: connection refused (retried 5 times)."#,
        r#"… Post "https://ingress-nginx-controller-admission.ingress-nginx.svc:443/…/ingresses…": dial tcp 10.96.14.2:443: connect: connection refused"#,
    ),
    (
        APPLY,
        r#"namespaces "shop-production" not found (retried 5 times)."#,
        r#"Failed last sync attempt to [4f8e1c2d3b5a…]: one or more objects failed to apply: namespaces "shop-production" not found"#,
    ),
    (
        APPLY,
        r#"error when patching "/dev/shm/2847263517": admission webhook "validate.kyverno.svc-fail" denied the request: resource Deployment/shop/checkout was blocked due to the following policies require-requests-limits: validate-resources: 'validation error: CPU and memory resource requests and limits are required. rule validate-resources failed at path /spec/template/spec/containers/0/resources/limits/' (retried 5 times)."#,
        "… CPU and memory resource requests and limits are required. rule validate-resources failed at path /spec/…/resources/limits/",
    ),
    (
        SYNC,
        "one or more objects failed to apply (dry run), reason: The Kubernetes API could not find monitoring.coreos.com/ServiceMonitor for requested resource shop-production/checkout. Make sure the \"ServiceMonitor\" CRD is installed on the destination cluster. (retried 5 times).",
        "… The Kubernetes API could not find monitoring.coreos.com/ServiceMonitor for requested resource shop-production/checkout",
    ),
    (
        HELM,
        "execution error at (checkout/templates/deployment.yaml:42:12): A valid .Values.database.host is required for production installs of this chart",
        "… execution error at (checkout/templates/deployment.yaml…): A valid .Values.database.host is required for production installs of this chart",
    ),
    (
        HELM,
        r#"INSTALLATION FAILED: template: checkout/charts/common/templates/_deployment.tpl:42:12: executing "common.deployment" at <include "common.image" .>: error calling include: template: checkout/charts/common/templates/_image.tpl:7:14: executing "common.image" at <.Values.image.tag>: nil pointer evaluating interface {}.tag"#,
        r#"… checkout/charts/common/templates/_image.tpl:7:14: executing "common.image" at <.Values.image.tag>: nil pointer evaluating interface {}.tag"#,
    ),
    (
        HELM,
        r#"Unable to continue with install: Service "checkout" in namespace "shop" exists and cannot be imported into the current release: invalid ownership metadata; annotation validation error: key "meta.helm.sh/release-name" must equal "checkout": current value is "legacy-checkout""#,
        r#"… key "meta.helm.sh/release-name" must equal "checkout": current value is "legacy-checkout""#,
    ),
    (
        HELM,
        "values don't meet the specifications of the schema(s) in the following chart(s):\ncheckout:\n- replicaCount: Invalid type. Expected: integer, given: string\n",
        "… replicaCount: Invalid type. Expected: integer, given: string",
    ),
    (
        HELM,
        "failed pre-install: 1 error occurred:\n\t* job checkout-migrate failed: BackoffLimitExceeded\n\n",
        "… failed pre-install: job checkout-migrate failed: BackoffLimitExceeded",
    ),
    (
        HELM,
        "2 errors occurred:\n\t* Deployment.apps \"checkout\" is invalid: spec.template.spec.containers[0].image: Required value\n\t* Service \"checkout\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767\n\n",
        r#"… Deployment.apps "checkout" is invalid: spec.template.spec.containers[0].image: Required value; …"#,
    ),
    (
        BUILD,
        "'web.yaml': open /tmp/kustomization-3416847263/apps/production/web.yaml: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '/tmp/kustomization-3416847263/apps/production/web.yaml' : lstat /tmp/kustomization-3416847263/apps/production/web.yaml: no such file or directory",
        "… lstat /tmp/kustomization-3416847263/apps/production/web.yaml: no such file or directory",
    ),
    (
        BUILD,
        "'../base': read /tmp/kustomization-3416847263/apps/base: is a directory': couldn't make target for path '/tmp/kustomization-3416847263/apps/base': unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/tmp/kustomization-3416847263/apps/base'",
        "… unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/tmp/kustomization-3416847263/apps/base'",
    ),
    (
        BUILD,
        "'../base': read /tmp/kustomization-3416847263/apps/base: is a directory': recursed accumulation of path '/tmp/kustomization-3416847263/apps/base': accumulating resources: accumulation err='accumulating resources from 'service.yaml': open /tmp/kustomization-3416847263/apps/base/service.yaml: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '/tmp/kustomization-3416847263/apps/base/service.yaml' : lstat /tmp/kustomization-3416847263/apps/base/service.yaml: no such file or directory",
        "… lstat /tmp/kustomization-3416847263/apps/base/service.yaml: no such file or directory",
    ),
    (
        "",
        r#"PersistentVolumeClaim data: PersistentVolumeClaim "data" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"#,
        "PersistentVolumeClaim data: … spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    ),
    // An unknown controller.
    (
        "controller of gizmos: could not reconcile gizmo shop/checkout in region eu-central-1: step 4 of 7: provision the database: request to https://db.acme.example/v2/instances: ",
        "quota exceeded: project acme-prod may have 3 instances of class large and has 3, and this one would be the fourth, so ask for more quota of class large",
        "… project acme-prod may have 3 instances of class large and has 3, and this one would be the fourth, so ask for more quota of class large",
    ),
    (
        "",
        r#"[spec.listeners[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive, spec.listeners[1].hostname: Invalid value: "UPPER.acme.example": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters]"#,
        "spec.listeners[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive; …",
    ),
];

#[test]
fn the_end_of_nested_errors_is_shown() {
    for (wrapper, error, expected) in MESSAGES {
        let shown = fit_error(&format!("{wrapper}{error}"), MOST);
        assert_eq!(shown, *expected);
    }
}

#[test]
fn errors_stay_within_their_length() {
    for (wrapper, error, _) in MESSAGES {
        for most in [60, 100, 120, 140, 200] {
            let shown = fit_error(&format!("{wrapper}{error}"), most);
            assert!(!shown.is_empty() && shown.chars().count() <= most, "{most}: {shown}");
        }
    }
}

#[test]
fn short_message_is_whole() {
    let shown = fit_error("build failed:\n  no such file (retried 5 times).\n", MOST);
    assert_eq!(shown, "build failed: no such file (retried 5 times).");
}
