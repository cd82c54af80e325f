//! Certificates of a control plane and its clients, created for each test.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// Names under which the API server is reached.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "kubernetes.default.svc"];

/// A certificate and its key, as files.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: PathBuf,
}

impl Authority {
    /// Its files are in `folder`, under `name`.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = folder.join(format!("{name}.crt"));
        fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder: folder.to_owned(), issuer: Issuer::new(params, key), certificate }
    }

    /// Creates the serving certificate of the API server; overwrites an earlier one.
    pub(crate) fn server(&self) -> Pair {
        let mut params = CertificateParams::new(NAMES.map(str::to_owned)).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign("apiserver", &params)
    }

    /// For a user: the common name is who it is, the organisation the group.
    pub(crate) fn client(&self, file: &str, user: &str, group: &str) -> Pair {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, user);
        params.distinguished_name.push(DnType::OrganizationName, group);
        self.sign(file, &params)
    }

    fn sign(&self, file: &str, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        let pair =
            Pair { certificate: self.folder.join(format!("{file}.crt")), key: self.folder.join(format!("{file}.key")) };
        fs::write(&pair.certificate, signed.pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }
}

/// A key that signs tokens of service accounts, and its public half.
pub(crate) fn signing_key(folder: &Path) {
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("service-accounts.key"), key.serialize_pem()).unwrap();
    fs::write(folder.join("service-accounts.pub"), key.public_key_pem()).unwrap();
}
