"""Test tasks for the engine: each run adds a row to `probe_effect`, so lost and repeated runs are visible.

Installed by `tests.settings`, which pytest and the processes it starts use. The types, and their parameters:

    probe.note   {}                one effect
    probe.slow   {"seconds": s}    sleeps inside the transaction, then one effect
    probe.hang   {}                hangs in the thread for handlers that may wait, then one effect
    probe.fail   {"times": n}      writes its effect, then raises; from the attempt after the n-th on it succeeds
    probe.refused {}               writes its effect, then finds the database full
    probe.kill   {"times": n}      writes its effect, then kills its worker with SIGKILL; likewise
    probe.crash_after {}            one effect; kills its worker after the commit, before that is recorded
    probe.broken {"seconds": s}    sleeps, then raises, once and for all; with {} one effect
    probe.clock  {"seconds": s}    puts its worker's clock so much ahead, then one effect

Without `times` those two never succeed. A first attempt that is not counted is not one of the n.
"""
