"""Torque regressors of kinematic trees, and what is made of them."""
