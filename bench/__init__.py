"""Benchmarks on servers of their own: `make bench`, or one by one as `python -m bench.lateness`.

Each prints what it measured and how, and keeps the figures as JSON under `var/bench/`.
"""
