"""What supervision means: pure, with no clock, no randomness and no I/O."""
