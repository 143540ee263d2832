//! The tests that etcd-client is published with, at the address of one of our members.

include!(concat!(env!("ETCD_CLIENT_TESTS"), "/client.rs"));
