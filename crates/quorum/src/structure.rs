//! Information structures (spec 2.6): derive and optimise them.
