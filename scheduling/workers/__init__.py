"""Processes that run tasks: worker, maintenance, at-least-once tasks, supervisor, shutdown."""
