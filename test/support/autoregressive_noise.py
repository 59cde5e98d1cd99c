"""Noise whose neighbours correlate."""

from __future__ import annotations

import numpy as np
import scipy.signal


def autoregressive(rng, shape, rho):
    """Noise of unit variance whose neighbours correlate by rho."""
    shocks = np.sqrt(1.0 - rho**2) * rng.normal(size=shape)
    shocks[0] /= np.sqrt(1.0 - rho**2)
    return scipy.signal.lfilter([1.0], [1.0, -rho], shocks, axis=0)
