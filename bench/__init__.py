"""Benchmarks of Headline and its peers on servers of their own: `make bench`, or `python -m bench --measures=burst`.

`measures` holds what is measured, `publishers` who takes part, `peers` the peers' programs. Results go to
var/benchmarks.md; docs/benchmarks.md has the
medians.
"""
