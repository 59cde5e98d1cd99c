"""From channels with stamps of their own to filtered rows."""
