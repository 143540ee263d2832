//! etcd's API at real nodes on the loopback interface.

mod access;
mod answers;
mod hostile;
mod members;
mod services;
mod site;
