//! The jobs of the lab, asked as its page asks: what comes of them is what the commands say.

mod bounds;
mod results;
mod server;
