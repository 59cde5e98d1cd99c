"""What people look at: summaries and figures."""
