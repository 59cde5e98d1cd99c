"""Tables: CSV and NPZ."""
