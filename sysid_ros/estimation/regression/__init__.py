"""Estimators for problems that are linear in the parameters: y = Γ(q, v, a) θ."""
