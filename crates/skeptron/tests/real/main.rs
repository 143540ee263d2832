//! Real programs: nodes in processes of their own, and clients that count. Nothing is lost, nothing
//! happens twice, and fences rise, also while connections between the nodes break.

use tokio::sync::Mutex;

mod believers;
mod clients;
mod counter;
mod crashes;
mod elections;
mod history;
mod kills;
mod kinds;
mod load;
mod namespaces;
mod nodes;
mod processes;
mod register;
mod relay;

/// Each of these tests keeps all cores busy: one at a time.
static CORES: Mutex<()> = Mutex::const_new(());
