"""The start page: what goes out next, what went wrong, what waits for whom, and whether the engine runs."""
