"""What is inferred: estimators that turn a problem into an estimate with its uncertainty."""
