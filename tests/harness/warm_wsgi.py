"""The project's application, warm: `tests.conftest` serves each test by a copy of the process that imported this."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.template.loader import get_template
from django.template.utils import get_app_template_dirs
from django.urls import reverse

from headline.wsgi import application

__all__ = ["application"]

WANTED = ("admin", "articles", "registration", "unfold")
"""Folders of templates that pages are made of; others need packages that are not installed."""


def compile_templates() -> None:
    """Or the first page of each test would take a quarter of a second longer."""
    own: list[Path] = settings.TEMPLATES[0]["DIRS"]  # type: ignore[assignment]  # the stubs know of no such list
    for folder in (*own, *get_app_template_dirs("templates")):
        for file in Path(folder).rglob("*.html"):
            name = file.relative_to(folder)
            if name.parts[0] in WANTED or len(name.parts) == 1:
                get_template(str(name))


compile_templates()
reverse("home")
