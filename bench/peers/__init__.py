"""Programs of the peers, run with their own virtual environment (`requirements-bench.txt`)."""
