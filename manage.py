#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import InterfaceError, OperationalError, ProgrammingError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter's last flush would fail
        sys.exit(141)  # as if ended by SIGPIPE
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    except (ImproperlyConfigured, InterfaceError, OperationalError, ProgrammingError) as error:
        # What a person mistyped or forgot is told in one sentence; programmers may ask for more.
        if "--traceback" in sys.argv:
            raise
        if isinstance(error, ImproperlyConfigured):
            sys.exit(f"Headline cannot start: {error}")
        sys.exit(f"The database failed: {error}. Does it run, and did manage.py migrate? (--traceback tells more)")
