//! Tests of the masking: single cases, random texts, and the lists of `tests/`.

mod forms;
mod samples;

use proptest::prelude::*;

use super::*;

#[test]
fn all_patterns_compile() {
    for tried in SHAPES.iter() {
        Regex::new(tried.shape.pattern).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(SHAPES.len() <= Set::BITS as usize);
    assert!(tokens::PREFIXES.is_sorted_by_key(|(prefix, ..)| prefix));
}

/// Secrets are split in two parts, so that scanners do not report this file as a leak.
#[test]
fn secrets_are_masked() {
    let hex = "0123456789abcdef0123456789abcdef";
    for (before, secret, behind) in [
        // URLs and connection strings
        ("postgres://app:", "hunter2", "@db:5432/x: refused"),
        ("postgres://app:", "p@ss@w0rd", "@db:5432/x"),
        ("postgres://app:", "p/a:s", "@db:5432/x"),
        ("redis://:", "hunter2", "@cache:6379"),
        ("mongodb+srv://u:", "hunter2", "@c.example.net/db?x=1"),
        ("https://", &["gto", "ken0123456789abcdef"].concat(), "@git.example.com/a.git"),
        ("https://", "tok3nvalue", "@github.example.com/a.git"),
        ("sqlserver://sa@db:1433?database=x&password=", "hunter2", "&encrypt=true"),
        ("SharedAccessSignature sig=", "c2VjcmV0%3D", "&se=2"),
        ("Server=tcp:db,1433;User ID=sa;Password=", "hunter2", ";Encrypt=True"),
        ("Host=db;Pwd=", "hunter2", ";"),
        ("AccountName=a;AccountKey=", "c2VjcmV0c2VjcmV0==", ";EndpointSuffix=core.windows.net"),
        ("Endpoint=sb://x/;SharedAccessKey=", "c2VjcmV0c2VjcmV0=", ""),
        ("https://x.blob.core.windows.net/c?sv=1&sig=", "c2VjcmV0%3D", "&se=2"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=", hex, " 403"),
        // Identified by their names
        ("DB_PASSWORD=", "hunter2", " MY"),
        ("MY-API_KEY: ", "zzz1234", ""),
        ("dbPassword: ", "hunter2", ""),
        ("{\"clientSecret\": \"", "a b c d", "\", \"n\": 1}"),
        ("{\\\"password\\\":\\\"", "hunter2", "\\\"}"),
        ("password=\"", "two words", "\" ok"),
        ("password: '", "two words", "' ok"),
        ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
        ("{\"auths\":{\"r.io\":{\"auth\":\"", "dXNlcjpwYXNz", "\"}}}"),
        ("usage: app --password ", "hunter2", " --port 80"),
        ("//registry.npmjs.org/:_authToken=", "abcdef0123", ""),
        // Headers
        ("Authorization: Bearer ", "abcdefgh12345", ""),
        ("\"Authorization\":\"Basic ", "dXNlcjpwYXNz", "\""),
        ("authorization: Negotiate ", "YIIabcdefgh123", ""),
        ("curl -H 'Authorization: Bearer ", "ghijklmnopqrstuvwxyz", "' failed"),
        ("authorization: bearer ", "s3cr3t", ""),
        ("\"Authorization\": \"Bearer ", "mytokenxyz", "\""),
        ("\\\"Authorization\\\": \\\"Bearer ", "abc.def.ghi", "\\\""),
        ("X-Vault-Token: ", "abcdef", ""),
        ("Cookie: ", "session=abcdef; id=5", ""),
        // Tokens
        ("key ", &["AKIA", "IOSFODNN7EXAMPLE"].concat(), " denied"),
        ("x_", &["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"].concat(), " expired"),
        ("", &["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"].concat(), ""),
        ("", &["ghp", "_0123456789abcdefghijklmnopqrstuvwxyz"].concat(), ""),
        ("", &["github", "_pat_0123456789abcdefghij_klmnopqrstuvwxyz"].concat(), ""),
        ("", &["glpat", "-0123456789abcdefghij"].concat(), " no access"),
        ("", &["xox", "b-123456789012-abcdefABCDEF"].concat(), ""),
        ("post https://hooks.slack.com/services/", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", " 404"),
        ("", &["sk", "_live_0123456789abcdefABCDEF"].concat(), ""),
        ("", &["rk", "_test_0123456789abcdefABCDEF"].concat(), ""),
        ("", &["AIza", "SyA0123456789abcdefghijklmnopqrstuv"].concat(), ""),
        ("", &["ya29", ".a0Af_0123456789abcdefghij"].concat(), ""),
        ("", &["npm", "_0123456789abcdefghijklmnopqrstuvwxyz"].concat(), ""),
        ("", &["pypi", "-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAw"].concat(), ""),
        ("", &["sk", "-proj-0123456789abcdefABCDEF"].concat(), ""),
        ("", &["hvs", ".CAESIJ0123456789abcdefghij"].concat(), ""),
        // Keys
        (
            "got ",
            &["-----BEGIN RSA PRIVATE", " KEY----- MIIE abc= -----END RSA PRIVATE KEY-----"].concat(),
            " and more",
        ),
        ("got ", &["-----BEGIN PRIVATE", " KEY-----\\nMIIE\\nabc="].concat(), ""),
        ("tls.key: ", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU=", " bad"),
        ("", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", " bad"),
    ] {
        assert_eq!(mask(&format!("{before}{secret}{behind}")), format!("{before}{MASK}{behind}"), "{secret}");
    }
    assert_eq!(mask(&["MIIE abc= -----END PRIVATE", " KEY----- bad"].concat()), "*** bad");
}

#[test]
fn text_that_resembles_secrets_is_kept() {
    for text in [
        "secret \"db\" not found",
        "couldn't find key token in Secret demo/db",
        "references non-existent secret key: tls.crt",
        "http://10.0.0.1:8080/healthz",
        "https://user@example.com/path",
        "mkdir /etc/passwd: not a directory",
        "DB_PASSWORD: not set",
        "Access denied for user 'app'@'10.0.0.1' (using password: YES)",
        "DB_PASSWORD must be set",
        "token: expired",
        "ExpiredToken: The security token included in the request is expired",
        "failed to fetch token: serviceaccounts \"x\" not found",
        "failed to fetch oauth token: unexpected status: 403 Forbidden",
        "failed to get token: Get \"https://auth.example.com/token\": EOF",
        "open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory",
        "open /run/secrets/db_password: permission denied",
        "Error when reading /var/lib/rabbitmq/.erlang.cookie: eacces",
        r#"{"Error when reading /var/lib/rabbitmq/.erlang.cookie: eacces",[{auth,init_cookie,0}]}"#,
        "Missing key for 'production' environment, set this string with `bin/rails credentials:edit`",
        "Invalid credentials: MINIO_ROOT_USER length should be at least 3",
        "Basic authentication failed",
        "Basic configuration is missing",
        "WWW-Authenticate: Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
        "no Authorization header; authorization: permission denied",
        "authorization: bearer token required; Authorization: Basic authentication failed",
        "password=$(DB_PASSWORD) token=${TOKEN}",
        // Identifiers that diagnoses need
        "docker.io/library/nginx@sha256:2834dc507516af02784808c5f48b7cbe38b8ed5d0f4837f16e78d00deb7e7767",
        "docker-pullable://registry.example.com:5000/team/app@sha256:2834dc507516af02784808c5f48b7cbe38b8ed5d0f4837f16e78d00deb7e7767",
        "containerd://0f5c8e2b9d3a4c6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6",
        "pod web-5d4f8c7b9d-x2x4z_shop(6f0c4f4e-8a0e-4d38-9a4e-4a6f6d9a1b2c)",
        "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated=gpu}, {key=value}",
        "volume \"kube-api-access-7xk2p\"",
        "pods \"sk-learn-training-pipeline-worker-0\" is forbidden",
        "release-npm_config_cache and pypi-mirror-service.example.svc",
        "revision 5d4f8c7b9d, resourceVersion 123456789012345678901234567890",
        "/var/lib/kubelet/pods/6f0c4f4e/volumes/kubernetes.io~csi/pvc-3a4c6e7f/mount",
        "cgroup /kubepods/burstable/pod6f0c4f4e8a0e4d389a4e4a6f6d9a1b2c/0f5c8e2b9d3a4c6e7f8091a2b3c4d5e6",
        "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#detailed-behavior",
        "com.example.DatabaseConnectionPoolInitializationFailedBeforeStartException: no route to host",
        "arn:aws:iam::123456789012:role/eksctl-cluster-nodegroup-NodeInstanceRole-1ABCDEFGHIJKL",
        "unknown flag: --token-file /etc/token",
        "-----BEGIN CERTIFICATE----- is expected",
    ] {
        assert_eq!(mask(text), text);
    }
}

proptest! {
    /// The quick checks must not miss a secret that a pattern finds.
    #[test]
    fn quick_checks_miss_no_secret(pieces in prop::collection::vec(piece(), 1..12)) {
        let text = pieces.concat();
        let asked = mask_shapes(&text, suspects(&text));
        prop_assert_eq!(asked, mask_shapes(&text, Set::MAX));
    }
}

/// Separated by bars.
const AROUND: &str = "=|:|: | |\t|\"|'|\\|\\\"|@|/|;|,|&|-|_|--|.|é|Api|access|token|account_|private-|word|ord|hrase|s|bearer |Basic |\
    KEY|-----BEGIN |-----END | KEY-----|://";

/// Markers, text around them, and values.
fn piece() -> impl Strategy<Value = String> {
    let marks: Vec<&str> = SHAPES.iter().flat_map(|tried| tried.shape.marks).copied().collect();
    let shouted: Vec<String> = marks.iter().map(|mark| mark.to_uppercase()).collect();
    prop_oneof![
        prop::sample::select(marks).prop_map(ToOwned::to_owned),
        prop::sample::select(shouted),
        prop::sample::select(AROUND.split('|').collect::<Vec<_>>()).prop_map(ToOwned::to_owned),
        "[A-Za-z0-9+/]{3,70}",
        "[A-Z0-9]{16,20}",
        "[a-z0-9_.-]{8,40}",
    ]
}

#[test]
fn placeholder_in_a_command_stays() {
    let command = r#"kubectl patch secret db -p '{"stringData":{"passwd":"'<VALUE>'"}}'"#;
    assert_eq!(mask(command), command);
    assert_eq!(mask(&command.replace("'<VALUE>'", "hunter2x")), command.replace("'<VALUE>'", "***"));
}

#[test]
fn reason_after_a_wrapped_error_is_no_secret() {
    for text in [
        "failed to retrieve credentials: operation error STS: AssumeRole",
        "cannot verify token: signed by unknown issuer https://login.example.com",
        "auth: failed to parse API key: illegal base64 data",
    ] {
        assert_eq!(mask(text), text);
    }
    for text in ["failed to set password: hunter", "cannot verify token: abc123", "got password: hunter"] {
        assert!(mask(text).ends_with(MASK), "{text}");
    }
}

#[test]
fn placeholder_of_a_command_is_not_masked() {
    assert_eq!(mask("create --docker-password=<PASSWORD>"), "create --docker-password=<PASSWORD>");
    assert_eq!(mask("create --docker-password=<pa55word>"), "create --docker-password=***");
}

#[test]
fn masking_is_idempotent() {
    let listed =
        [include_str!("tests/forms.txt"), include_str!("tests/readable.txt"), include_str!("tests/samples.txt")];
    let listed = listed.into_iter().flat_map(str::lines).map(|line| line.replace(['«', '»', '¦'], ""));
    let texts = ["password=hunter2", "{\"password\": \"x y z\"}", "a://b:c@d", "Authorization: Bearer abcdefgh12345"];
    for text in texts.into_iter().map(ToOwned::to_owned).chain(listed) {
        let once = mask(&text);
        assert_eq!(mask(&once), once);
    }
}

proptest! {
    #[test]
    fn masking_of_any_text_is_idempotent(pieces in prop::collection::vec(piece(), 1..12)) {
        let once = mask(&pieces.concat()).into_owned();
        prop_assert_eq!(&mask(&once), &once);
    }
}
