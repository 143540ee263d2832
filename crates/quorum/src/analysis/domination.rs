//! domination
