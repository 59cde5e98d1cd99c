"""Lets benchmarks import ``support``, what they share with the tests: ``test/support``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))
