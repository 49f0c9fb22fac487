"""The documentation for operators, replayed on a new Debian."""
