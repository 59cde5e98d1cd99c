"""What tests and benchmarks share: robots, problems whose truth is known, recordings, benches."""

from pathlib import Path

#: Folder that processes started by a test put on their path, to import this package.
TESTS = Path(__file__).resolve().parents[1]
