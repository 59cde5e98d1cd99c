"""Many robots, many recordings: fits by the table, and what robots of one type have in common."""
