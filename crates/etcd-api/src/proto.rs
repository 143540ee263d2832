//! What `proto/` says, compiled by `build.rs`: messages, clients and servers.

#![allow(missing_docs, unreachable_pub, clippy::all)]

/// Leases, and what little of other services is answered.
pub mod etcdserverpb {
    tonic::include_proto!("etcdserverpb");
}

/// Keys with values.
pub mod mvccpb {
    tonic::include_proto!("mvccpb");
}

/// Locks.
pub mod v3lockpb {
    tonic::include_proto!("v3lockpb");
}

/// Elections.
pub mod v3electionpb {
    tonic::include_proto!("v3electionpb");
}
