//! Line plots over N.
