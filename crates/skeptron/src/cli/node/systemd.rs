//! What systemd wants to be told by a service of `Type=notify`. Nothing happens elsewhere.

use std::os::unix::net::UnixDatagram;

/// Tells the service manager, if there is one that asks, as in `READY=1`.
pub(super) fn notify(state: &str) {
    let Ok(path) = std::env::var("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&path, state) {
        tracing::warn!(%error, socket = path, "cannot tell systemd {state}");
    }
}

#[cfg(target_os = "linux")]
fn send(path: &str, state: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::SocketAddr;
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send(path: &str, state: &str) -> std::io::Result<()> {
    UnixDatagram::unbound()?.send_to(state.as_bytes(), path).map(drop)
}
