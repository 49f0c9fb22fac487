"""Notes of an article in the admin."""
