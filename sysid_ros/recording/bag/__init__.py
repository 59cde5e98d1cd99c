"""rosbag2: SQLite and MCAP, read with their checksums and written with them."""
