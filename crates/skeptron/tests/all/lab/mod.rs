//! The lab as its page uses it: the page itself, runs, acts by hand, the gallery, jobs, and whatever a server
//! must survive.

mod acts;
mod bounds;
mod crowd;
mod gallery;
mod jobs;
mod page;
mod runs;
pub(crate) mod server;
mod types;
