"""Chaos tests: real servers and workers are killed, stopped and given wrong clocks while tasks become due.

After each fault nothing may be lost, nothing may have happened twice and nothing early. `test_storm.py` is its short
form and runs with all tests; `make chaos` runs the rest, one fault at a time, and prints how late the tasks were.
"""
