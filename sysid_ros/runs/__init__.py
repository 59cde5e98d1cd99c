"""A fit from beginning to end, the same from a terminal and from a node."""
