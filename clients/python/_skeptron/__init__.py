"""The inside of the module `skeptron`: import that one instead."""
