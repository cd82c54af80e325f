//! All kube I/O, and the shapes in which the API speaks.

pub mod wire;
