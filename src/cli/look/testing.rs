//! Fake API servers for tests.

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
    clients_of(client)
}

fn clients_of(client: Client) -> Clients {
    let (server, namespace, context) = ("here".to_owned(), "shop".to_owned(), Some("test".to_owned()));
    Clients { watch: client.clone(), write: client, server, namespace, context }
}

/// Clients of a server with these objects, each with its kind. It returns 403 for the resources in `refused`.
pub(in crate::cli) fn cluster(objects: Vec<Value>, refused: &'static [&'static str]) -> Clients {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (code, answer) = answer(&objects, refused, request.uri().path(), request.uri().query().unwrap_or_default());
        let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
        std::future::ready(Ok::<_, Infallible>(response.unwrap()))
    });
    let client = Client::new(service, "shop");
    clients_of(client)
}

fn answer(objects: &[Value], refused: &[&str], path: &str, query: &str) -> (u16, Value) {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let rest = if parts[0] == "api" { &parts[2..] } else { parts.get(3..).unwrap_or_default() };
    if let ["namespaces", name] = rest {
        return (200, json!({"metadata": {"name": name}}));
    }
    let (namespace, rest) = match rest {
        ["namespaces", name, rest @ ..] => (Some(*name), rest),
        rest => (None, rest),
    };
    let plural = rest.first().copied().unwrap_or_default();
    if refused.contains(&plural) {
        let message = format!("{plural} is forbidden: User \"jane\" cannot list resource \"{plural}\"");
        return (403, json!({"status": "Failure", "reason": "Forbidden", "code": 403, "message": message}));
    }
    let is_other = |of: &str| query.contains("metadata.namespace%21%3D") && !query.contains(&format!("%21%3D{of}%2C"));
    let mut items = objects.iter().filter(|object| {
        let of = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let named = if kind.ends_with('s') && kind != "endpoints" { format!("{kind}es") } else { format!("{kind}s") };
        let is_in_place = namespace.is_none_or(|namespace| namespace == of);
        named == plural && is_in_place && (!query.contains("%21%3D") || is_other(of))
    });
    match rest.get(1) {
        None => (200, json!({"items": items.collect::<Vec<_>>()})),
        Some(name) => match items.find(|object| object["metadata"]["name"] == **name) {
            Some(object) => (200, object.clone()),
            None => (404, json!({"status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})),
        },
    }
}
