//! The HTTP API and its client, over real sockets.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

mod access;
mod client;
mod crowd;
mod events;
mod hostile;
mod killed;
mod kinds;
mod limits;
mod listings;
mod manual;
mod names;
mod native;
mod openapi;
mod outages;
mod probes;
mod roles;
mod schema;
mod sessions;
mod site;
mod speed;
mod tls;
mod unlock;
