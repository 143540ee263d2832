//! All tests from outside, in one binary: each one more is linked once more.

mod claims;
mod elections;
mod kinds;
mod members;
mod oracle;
mod prefix;
mod starvation;
mod stateright;
