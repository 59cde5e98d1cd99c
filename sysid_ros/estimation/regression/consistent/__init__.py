"""Physically consistent estimators: LMI, log-det divergence, log-Cholesky."""
