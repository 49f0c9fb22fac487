#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # What a person mistyped is told in one sentence; programmers may ask for more.
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"Headline cannot start: {error}")
