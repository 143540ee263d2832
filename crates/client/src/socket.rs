//! What every TCP connection of a client needs, at either end.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// After so long a silence a peer is asked whether its machine is still there.
const PROBE_AFTER: Duration = Duration::from_secs(10);
/// How long a peer's machine may take nothing.
const SILENT_FOR: Duration = Duration::from_secs(20);

/// Small messages go out at once, and a machine that vanished is noticed.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    let probes = socket2::TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_AFTER / 4);
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENT_FOR))?;
    Ok(())
}
