"""The project's settings with one more app, `tests.probe`, whose tasks leave traces or misbehave on request."""

from __future__ import annotations

from headline.settings import *  # noqa: F403
from headline.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.probe"]
