//! The judges: one property, one file. Each is a pure state machine that a driver feeds with what
//! happens; the simulator, the checker and the runtime use the same ones.

mod exclusion;
mod fence;
mod leadership;
mod occupancy;
mod order;
mod progress;

pub use exclusion::{Admission, Exclusion};
pub use fence::{Fence, FenceMonitor, SurvivorFences};
pub use leadership::{Leadership, LeadershipViolation};
pub use occupancy::{Occupancy, OccupancyViolation};
pub use order::OrderMonitor;
pub use progress::{Progress, Stall};
