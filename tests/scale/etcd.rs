//! Direct access to etcd: objects are written and deleted without the API server, which is then free for the measured client.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::{Value, json};

/// Objects per request, and concurrent requests.
const BATCH: usize = 64;
const AT_ONCE: usize = 8;

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Put {
    pub(crate) key: String,
    pub(crate) value: String,
}

#[derive(Clone)]
pub(crate) struct Etcd(Client);

impl Etcd {
    /// `address` without TLS.
    pub(crate) fn new(address: &str) -> Result<Self> {
        Ok(Self(Client::try_from(Config::new(address.parse()?))?))
    }

    /// Writes objects in batches before any watch runs; returns their number and size in bytes.
    pub(crate) async fn fill(&self, puts: impl IntoIterator<Item = Put>) -> Result<(usize, usize)> {
        futures::stream::iter(puts)
            .ready_chunks(BATCH)
            .map(|batch| self.put_together(batch))
            .buffer_unordered(AT_ONCE)
            .try_fold((0, 0), |sum, (objects, bytes)| async move { Ok((sum.0 + objects, sum.1 + bytes)) })
            .await
    }

    /// Writes each object with its own resource version, like changes in a cluster. A watch that restarts within changes of
    /// one version would miss the rest of them.
    pub(crate) async fn put(&self, puts: impl IntoIterator<Item = Put>) -> Result<()> {
        let put = |put: Put| async move {
            self.request("/v3/kv/put", &json!({"key": bytes(put.key), "value": bytes(put.value)})).await?;
            Ok(())
        };
        futures::stream::iter(puts).map(put).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn put_together(&self, batch: Vec<Put>) -> Result<(usize, usize)> {
        let sizes = (batch.len(), batch.iter().map(|put| put.value.len()).sum());
        let puts =
            batch.into_iter().map(|put| json!({"requestPut": {"key": bytes(put.key), "value": bytes(put.value)}}));
        self.request("/v3/kv/txn", &json!({"success": puts.collect::<Vec<_>>()})).await?;
        Ok(sizes)
    }

    /// Deletes all keys with this prefix, one by one.
    pub(crate) async fn remove(&self, prefix: &str) -> Result<()> {
        #[derive(Deserialize)]
        struct Range {
            #[serde(default)]
            kvs: Vec<Key>,
        }
        #[derive(Deserialize)]
        struct Key {
            key: ByteString,
        }
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let range = json!({"key": bytes(prefix), "range_end": ByteString(end), "keys_only": true});
        let found: Range = serde_json::from_str(&self.request("/v3/kv/range", &range).await?)?;
        self.remove_each(found.kvs.into_iter().map(|Key { key }| key)).await
    }

    /// Deletes these keys if they exist.
    pub(crate) async fn remove_keys(&self, keys: impl IntoIterator<Item = String>) -> Result<()> {
        self.remove_each(keys.into_iter().map(bytes)).await
    }

    async fn remove_each(&self, keys: impl IntoIterator<Item = ByteString>) -> Result<()> {
        let remove = |key: ByteString| async move {
            self.request("/v3/kv/deleterange", &json!({"key": key})).await?;
            Ok(())
        };
        futures::stream::iter(keys).map(remove).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn request(&self, path: &str, body: &Value) -> Result<String> {
        let request = http::Request::post(path).body(serde_json::to_vec(body)?)?;
        self.0.request_text(request).await.context("etcd")
    }
}

fn bytes(text: impl Into<String>) -> ByteString {
    ByteString(text.into().into_bytes())
}
