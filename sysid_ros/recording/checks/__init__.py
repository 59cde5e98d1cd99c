"""What is wrong with a recording, and what its efforts really are."""
