"""Whether to believe it: prediction of held-out data, and a verdict."""
