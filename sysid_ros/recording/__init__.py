"""What was measured: recordings, signals and the aligned data a problem needs."""
