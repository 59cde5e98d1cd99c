"""Least squares inside of what physics allows: a primal-dual interior-point method."""
