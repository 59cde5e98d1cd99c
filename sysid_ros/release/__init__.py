"""What is handed over: robot descriptions and parameter files that controllers can load."""
