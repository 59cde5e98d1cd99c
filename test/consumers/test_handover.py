"""A loop changes to the newest model when it says so, and frees none."""

import subprocess
from pathlib import Path

from support.cpp_programs import compile_program

HERE = Path(__file__).resolve().parent


def test_a_loop_takes_the_newest_model_and_every_other_is_freed(tmp_path):
    program = compile_program(HERE / 'handover.cpp', tmp_path / 'handover', '-pthread')
    finished = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert (finished.returncode, finished.stdout) == (0, '')
