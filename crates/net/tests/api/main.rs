//! The HTTP API and its client, over real sockets.

mod access;
mod client;
mod crowd;
mod events;
mod hostile;
mod killed;
mod openapi;
mod schema;
mod sessions;
mod site;
