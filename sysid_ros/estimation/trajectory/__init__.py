"""States and parameters together: problems whose accelerations nobody measured."""
