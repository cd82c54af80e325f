//! The operator's requests against an API server that misbehaves on demand.

#[path = "apiserver/publishing.rs"]
mod publishing;
#[path = "apiserver/reading.rs"]
mod reading;
#[path = "apiserver/server.rs"]
mod server;
#[path = "apiserver/watching.rs"]
mod watching;
