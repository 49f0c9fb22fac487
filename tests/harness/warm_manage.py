"""Runs manage.py in copies of a process that has imported Django, one for each line of standard input.

A line is a JSON list: the environment's variables and the arguments. The reply is a JSON list: the exit status, and
what was printed to standard output and to standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile

import django.core.management
import django.core.management.commands.check
import django.db.models  # noqa: F401 (the settings are not read by these imports, and the copies need not repeat them)


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        variables, arguments = json.loads(line)
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            child = os.fork()
            if not child:
                _run(variables, arguments, output.fileno(), errors.fileno())
            _, status = os.waitpid(child, 0)
            texts = [file.seek(0) or file.read() for file in (output, errors)]
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), *texts]) + "\n")
        sys.stdout.flush()


def _run(variables: dict[str, str], arguments: list[str], output: int, errors: int) -> None:
    """Become manage.py; does not return."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["manage.py", *arguments]
    status: object = 0
    try:
        runpy.run_path("manage.py", run_name="__main__")
    except SystemExit as end:
        status = end.code
        if isinstance(status, str):
            sys.stderr.write(f"{status}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    main()
