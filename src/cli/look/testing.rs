//! Fake API server for tests.

use std::convert::Infallible;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::cluster::client::Clients;

/// Clients of a server that returns `lists` by resource, empty lists otherwise, and 403 for the resources in `refused`.
pub(super) fn clients(lists: &[(&'static str, Value)], refused: &'static [&'static str]) -> Clients {
    let lists = lists.to_vec();
    let service = tower::service_fn(move |request: Request<Body>| {
        let plural = request.uri().path().rsplit('/').next().unwrap().to_owned();
        let items = lists.iter().find(|(of, _)| *of == plural).map_or_else(|| json!([]), |(_, items)| items.clone());
        let (code, answer) = if refused.contains(&plural.as_str()) {
            let message = format!("{plural} is forbidden: User \"jane\" cannot list resource \"{plural}\"");
            (403, json!({"status": "Failure", "reason": "Forbidden", "code": 403, "message": message}))
        } else {
            (200, json!({"items": items}))
        };
        let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
        std::future::ready(Ok::<_, Infallible>(response.unwrap()))
    });
    let client = Client::new(service, "shop");
    Clients { watch: client.clone(), write: client, server: "here".to_owned(), namespace: "shop".to_owned() }
}
