//! All tests from outside, in one binary: each one more is linked once more.

mod api;
mod cluster;
mod common;
mod conformance;
mod embedded;
mod etcd;
mod layers;
mod moves;
mod scale;
mod voters;
