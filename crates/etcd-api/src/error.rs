//! Why a request gets nothing, in etcd's codes and words where clients match them.

use skeptron_net::MemberId;
use skeptron_net::api::ErrorResponse;
use tonic::{Code, Status};

/// As etcd's Lease service says it.
pub(crate) fn lease_not_found() -> Status {
    Status::not_found(LEASE_NOT_FOUND)
}

/// As etcd's Lock and Election services say it, which give all their errors the code `Unknown`.
pub(crate) fn no_lease_for_lock() -> Status {
    Status::unknown(LEASE_NOT_FOUND)
}

const LEASE_NOT_FOUND: &str = "etcdserver: requested lease not found";

pub(crate) fn lease_exists() -> Status {
    Status::failed_precondition("etcdserver: lease already exists")
}

pub(crate) fn too_large_ttl() -> Status {
    Status::out_of_range("etcdserver: too large lease TTL")
}

pub(crate) fn no_key() -> Status {
    Status::unknown("etcdserver: key is not provided")
}

pub(crate) fn no_leader() -> Status {
    Status::unknown("election: no leader")
}

pub(crate) fn not_leader() -> Status {
    Status::unknown("election: not leader")
}

pub(crate) fn no_leader_given() -> Status {
    Status::unknown("\"leader\" field must be provided")
}

/// What a node that cannot grant anything tells clients that ask only nodes which can.
pub(crate) fn member_without_leader() -> Status {
    Status::unavailable("etcdserver: no leader")
}

/// The lease's member may be alive, so nobody knows what becomes of the lease.
pub(crate) fn not_reached(member: MemberId) -> Status {
    Status::unavailable(format!("{member}, where the lease lives, does not answer this member"))
}

/// What the API's rules refuse.
pub(crate) fn refused(why: &ErrorResponse) -> Status {
    let sentence = why.sentence();
    let (code, text) = match why.code() {
        "malformed" | "invalid" => (Code::InvalidArgument, sentence),
        "stranger" => (Code::Unauthenticated, "etcdserver: invalid auth token"),
        "permission-denied" => (Code::PermissionDenied, "etcdserver: permission denied"),
        "foreign-host" | "foreign-origin" => (Code::PermissionDenied, sentence),
        "quota" | "full" | "too-large" => (Code::ResourceExhausted, sentence),
        "session-over" => return lease_not_found(),
        "not-held" | "other-fence" | "not-leading" => (Code::FailedPrecondition, sentence),
        "lost" | "withdrawn" | "replaced" => (Code::Aborted, sentence),
        _ => (Code::Unavailable, sentence),
    };
    Status::new(code, text)
}

/// The same of a lock or an election.
pub(crate) fn lock_refused(why: &ErrorResponse) -> Status {
    if why.code() == "session-over" { no_lease_for_lock() } else { refused(why) }
}
