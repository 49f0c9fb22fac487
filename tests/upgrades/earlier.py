"""Run in the directory of an earlier version: its tables, the demo's rows, a row in each table, what readers see.

It prints JSON: the feed's headlines, and of each article page the headline and the paragraphs of its text. It uses what
all versions have: Django, the command `demo`, and the names of the model and of its main columns.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
import uuid
from datetime import timedelta
from typing import Any

import django
from django.apps import apps
from django.core.management import call_command
from django.db.models import AutoField, Field, Model
from django.test import Client
from django.utils import timezone

HOST = "localhost"


def main() -> None:
    """Fill the database of DATABASE_URL."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
    sys.path.insert(0, os.getcwd())
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("demo", stdout=sys.stderr)
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed:
            some_row(model)
    print(json.dumps(what_readers_see(), ensure_ascii=False, indent=1))  # noqa: T201


def some_row(model: Any) -> Model:
    """A row of the table, a new one if it is empty; one for the row of another model is written past `save()`."""
    found: Model | None = model._base_manager.first()
    if found:
        return found
    row = model(**{field.attname: some_value(field) for field in model._meta.concrete_fields if is_given(field)})
    model._base_manager.bulk_create([row])
    stored: Model = model._base_manager.get()
    return stored


def is_given(field: Field[Any, Any]) -> bool:
    """Whether the database does not make the value itself."""
    return not isinstance(field, AutoField) and not getattr(field, "generated", False)


def some_value(field: Field[Any, Any]) -> Any:
    """A value that the column takes."""
    if field.remote_field:
        return None if field.null and field.related_model == field.model else some_row(field.related_model).pk
    if field.name == "widths":
        return [320]  # no image is stored without
    if field.name == "subject_id":
        return "1"  # the id of a row, as text
    if field.has_default():
        return field.get_default()
    if field.choices:
        return field.choices[0][0]
    if "unique" not in field.name and field.null:
        return None
    kind = field.get_internal_type()
    if kind in ("DateTimeField", "DateField"):
        return timezone.now() - timedelta(days=1)  # also of a heartbeat: no worker runs
    if kind == "UUIDField":
        return uuid.uuid4()
    if kind == "BinaryField":
        return b"0"
    if kind == "JSONField":
        return {}
    return 1 if "Integer" in kind or kind in ("BooleanField", "FloatField") else "x"


def what_readers_see() -> dict[str, Any]:
    """The pages of articles that are not unpublished by themselves, and the headlines of the feed."""
    client = Client(SERVER_NAME=HOST)
    article = apps.get_model("articles", "Article")
    pages = {}
    for one in article.objects.filter(status=9, unpublish_at=None).order_by("pk"):
        response = client.get(one.get_absolute_url())
        if response.status_code == 200:
            shown = paragraphs(response.content.decode())
            kept = [text for text in paragraphs(one.body) if text in shown]
            pages[one.get_absolute_url()] = [headline(response.content.decode()), *kept]
    response = client.get("/feed/")
    titles = re.findall("<title>(.*?)</title>", response.content.decode())[1:] if response.status_code == 200 else []
    return {"pages": pages, "has_feed": response.status_code == 200, "feed": [html.unescape(title) for title in titles]}


def headline(page: str) -> str:
    """The text of its first heading."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    return plain(found[1]) if found else ""


def paragraphs(page: str) -> list[str]:
    """The texts of its paragraphs."""
    return [plain(text) for text in re.findall(r"<p\b[^>]*>(.*?)</p>", page, re.DOTALL)]


def plain(markup: str) -> str:
    """Without tags, with single spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


if __name__ == "__main__":
    main()
