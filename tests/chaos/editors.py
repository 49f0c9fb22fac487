"""Child process: an editor who changes articles that other editors change, too.

`python -m tests.chaos.editors '{"name": "bob", "operations": 50}'`, or `"seconds"` instead of `"operations"`, prints
what came of it as JSON: how much was done, refused, run again after a collision, and which errors reached the editor.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

from articles import publishing, releases  # noqa: E402
from articles.exceptions import ArticleError  # noqa: E402
from articles.models import Article, Release, Tag  # noqa: E402
from articles.publishing import bulk  # noqa: E402
from articles.workflow import Transition  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.services import refresh  # noqa: E402
from tests.articles.factories import APPROVED, make_channel, make_editor, soon  # noqa: E402

APART = 1.5  # seconds within which everything is scheduled


class Editor:
    """A logged-in user who runs random operations."""

    def __init__(self, name: str) -> None:
        self.random = random.Random(name)
        self.user = User.objects.get(username=name)
        self.client = Client()
        self.client.force_login(self.user)
        self.did: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()

    def work(self, *, operations: float = float("inf"), seconds: float = float("inf")) -> None:
        """Run a number of operations, or as many as the time allows."""
        end = time.monotonic() + seconds
        while self.did.total() < operations and time.monotonic() < end:
            act = self.random.choice(ACTS)
            try:
                act(self)
                self.did["done"] += 1
            except (ArticleError, Refused):
                self.did["refused"] += 1
            except Exception as error:
                self.did["failed"] += 1
                self.errors[f"{act.__name__}: {type(error).__name__}: {error}"[:300]] += 1

    def some(self, most: int) -> list[Article]:
        """Articles in random order."""
        ids = list(Article.objects.values_list("pk", flat=True))
        return [Article(pk=pk) for pk in self.random.sample(ids, min(most, len(ids)))]

    def one(self) -> Article:
        return self.some(1)[0]

    def moment(self) -> Any:
        return soon(seconds=self.random.uniform(-APART, APART))

    def post(self, path: str, **values: Any) -> None:
        """Call the API. Raises `Refused`, and exceptions of the view."""
        self.send(self.client.post, path, values)

    def patch(self, path: str, **values: Any) -> None:
        self.send(self.client.patch, path, values)

    def send(self, method: Any, path: str, values: Any) -> None:
        response = method(path, json.dumps(values, default=str), content_type="application/json")
        if response.status_code >= 500:
            raise AssertionError(f"{path}: {response.status_code}")
        if response.status_code >= 400:
            raise Refused


class Refused(Exception):
    """The API returned an error."""


def schedule_many(editor: Editor) -> None:
    publishing.schedule_many(editor.some(10), publish_at=editor.moment(), by=editor.user)


def reschedule_many(editor: Editor) -> None:
    shift = timedelta(seconds=editor.random.choice((-1, 1)))
    publishing.reschedule_many(editor.some(10), shift=shift, by=editor.user)


def edit(editor: Editor) -> None:
    tags = [editor.random.choice(Tag.objects.all())]
    changes = {"title": f"Edited {editor.random.random()}", "tags": tags, "byline": editor.user.username}
    publishing.edit(editor.one(), by=editor.user, changes=changes)


def take(editor: Editor) -> None:
    """Transitions that lead an article back to its first status."""
    transition = editor.random.choice(
        (publishing.submit, publishing.publish_now, publishing.unpublish, publishing.republish, publishing.unschedule)
    )
    transition(editor.one(), by=editor.user)


def plan_update(editor: Editor) -> None:
    publishing.schedule_update(editor.one(), publish_at=editor.moment(), by=editor.user)


def patch(editor: Editor) -> None:
    article = editor.one()
    editor.patch(f"/api/v1/desk/articles/{article.pk}/", summary=f"By the API {editor.random.random()}")


def schedule(editor: Editor) -> None:
    editor.post(f"/api/v1/desk/articles/{editor.one().pk}/schedule/", publish_at=editor.moment().isoformat())


def act_on_many(editor: Editor) -> None:
    transition = editor.random.choice(
        (Transition.SCHEDULE, Transition.RESCHEDULE, Transition.UNPUBLISH, Transition.REPUBLISH)
    )
    bulk_action = bulk.gather_articles(transition, [(article.pk, "") for article in editor.some(8)], by=editor.user)
    bulk.start_bulk_action(
        bulk_action, publish_at=editor.moment() if transition is Transition.SCHEDULE else None, minutes=1
    )
    while bulk.advance_bulk_action(bulk_action.pk):
        pass


def release(editor: Editor) -> None:
    made = releases.create_release(name=editor.user.username, by=editor.user)
    for article in editor.some(3):
        try:
            releases.add_member(made, article=article, by=editor.user)
        except ArticleError:
            continue
    releases.schedule_release(made, publish_at=editor.moment(), by=editor.user)


def end_release(editor: Editor) -> None:
    made = Release.objects.order_by("?").first()
    if made is not None:
        editor.random.choice((releases.cancel_release, releases.roll_back_release))(made, by=editor.user)


def bring_in(editor: Editor) -> None:
    """Import a file with the same articles again."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "news.jsonl"
        lines = (
            {"external_id": f"agency:{number}", "title": f"No. {editor.random.random()}", "body": "<p>x</p>"}
            for number in editor.random.sample(range(10), 5)
        )
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        said = StringIO()
        try:
            call_command("import_articles", str(path), stdout=said, stderr=said)
        except SystemExit as stop:
            raise AssertionError(said.getvalue()) from stop


def replace(editor: Editor) -> None:
    """Delete an article and create another one."""
    Article.objects.filter(pk=editor.one().pk).delete()
    Article.objects.create(title="New", status=APPROVED, publish_at=editor.moment(), author=editor.user)


def reconcile(editor: Editor) -> None:
    refresh()


ACTS: Sequence[Callable[[Editor], None]] = (
    *(schedule_many, reschedule_many) * 3,
    *(edit, take, schedule, patch) * 2,
    *(plan_update, act_on_many, release, end_release, bring_in, replace, reconcile),
)


class Collisions(logging.Handler):
    """Counts the retried transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "is run again" in record.getMessage()


def found(articles: int, editors: Sequence[str]) -> None:
    """Create the data."""
    now = read_database_clock()
    channel, users = make_channel(), [make_editor(name) for name in editors]
    for number in range(5):
        Tag.objects.create(name=f"Tag {number}", slug=f"tag-{number}")
    for number in range(articles):
        author = users[number % len(users)]
        Article.objects.create(title=f"No. {number}", status=APPROVED, publish_at=now, channel=channel, author=author)


def main() -> None:
    """Create the data, or run an editor."""
    wanted = json.loads(sys.argv[1])
    if "articles" in wanted:
        found(**wanted)
        print("null")  # noqa: T201
        return
    collisions = Collisions()
    logger = logging.getLogger("scheduling.database.transactions")
    logger.addHandler(collisions)
    logger.setLevel(logging.INFO)
    editor = Editor(wanted.pop("name"))
    editor.work(**wanted)
    print(json.dumps({**editor.did, "again": collisions.count, "errors": editor.errors}))  # noqa: T201


if __name__ == "__main__":
    main()
