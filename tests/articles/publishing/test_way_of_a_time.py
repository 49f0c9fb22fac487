"""The way of a time from the form to the row gets no longer: modules that it passes, and those that hold it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.harness import base_dir

pytestmark = pytest.mark.django_db

PRODUCT = tuple(f"{base_dir / app}/" for app in ("articles", "headline", "scheduling"))


class Way:
    """What is called of the product while the object records, and which modules hold the time `looked_for`.

    A frame holds it if a local variable, or an attribute of one that is the product's own, equals it.
    """

    def __init__(self, looked_for: datetime) -> None:
        self.looked_for = looked_for
        self.modules: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.holders: set[str] = set()
        self.changes = 0
        self._last = ""

    def of(self, call: Callable[[], Any]) -> Any:
        """Call it, and record."""
        sys.setprofile(self._note)
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(PRODUCT):
            return
        module = str(Path(path).relative_to(base_dir))
        self.modules.add(module)
        self.functions.add((module, frame.f_code.co_qualname))
        if any(map(self._is_held_by, frame.f_locals.values())):
            self.holders.add(module)
            if event == "call" and module != self._last:
                self.changes += 1
                self._last = module

    def _is_held_by(self, value: Any) -> bool:
        if isinstance(value, datetime):
            return value == self.looked_for
        if not type(value).__module__.startswith(("articles", "headline", "scheduling")):
            return False
        fields = getattr(value, "__dict__", {})
        return any(isinstance(one, datetime) and one == self.looked_for for one in fields.values())


def test_a_form_that_only_schedules() -> None:
    client, article = Client(), make_article(status=APPROVED)
    client.force_login(make_editor())
    address = f"/admin/articles/article/{article.pk}/change/"
    for hours in (1, 2):  # the first one fills the caches
        fields = client.get(address).context["adminform"].form
        form = {field.name: field.value() for field in fields if field.value()}
        due = soon(hours=hours).replace(microsecond=0)
        sent = {**form, "publish_at": f"{due:%Y-%m-%dT%H:%M:%S}", "_step_schedule": "1"}
        way = Way(due)
        assert way.of(partial(client.post, address, sent)).status_code == 302
    article.refresh_from_db()
    assert article.publish_at == due
    assert len(way.modules) <= 84 and len(way.functions) <= 431
    assert len(way.holders) <= 29 and way.changes <= 66


def test_the_service() -> None:
    article, editor = make_article(status=APPROVED), make_editor()
    for hours in (1, 2):
        due = soon(hours=hours)
        way = Way(due)
        with CaptureQueriesContext(connection) as statements:
            way.of(partial(publishing.schedule, article, by=editor, publish_at=due))
    assert {"articles/publishing/schedules.py", "articles/publishing/store.py"} < way.holders, "it was recorded"
    assert len(way.modules) <= 36 and way.changes <= 41
    assert len([one for one in statements.captured_queries if "SAVEPOINT" not in one["sql"]]) <= 10
