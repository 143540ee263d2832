//! The lock table: one instance of an algorithm for each lock name, and the waiters of this node.
