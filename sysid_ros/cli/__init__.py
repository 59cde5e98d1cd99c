"""The workflow in a terminal, one verb to a question."""
