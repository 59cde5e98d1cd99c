"""Rows that are not to be believed: outliers, instruments, robust covariances."""
