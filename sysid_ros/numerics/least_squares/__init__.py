"""Nonlinear least squares: one damped Gauss-Newton method, and normal equations of fixed form."""
