"""The workflow in a terminal, one verb to a question."""

import os

# Matrices have a hundred rows here: threads of the linear algebra wait for each other longer than
# they compute, and a choice of models takes three times as long. Read when NumPy is loaded.
for _library in ('OPENBLAS', 'MKL', 'OMP'):
    os.environ.setdefault(f'{_library}_NUM_THREADS', '1')
