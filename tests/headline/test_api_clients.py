"""API clients that two generators make from the OpenAPI document: both are complete, and one runs a newsroom's day."""

from __future__ import annotations

import importlib
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from inspect import signature
from io import BytesIO
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from articles.models import Article
from articles.roles import Role
from scheduling.database import read_database_clock
from scheduling.models import TaskInfoLog
from tests.articles.factories import make_article, make_channel, make_member, soon
from tests.articles.image_files import image_bytes
from tests.conftest import Site
from tests.harness import PATIENCE, eventually, python
from tests.headline.api_document import document_text


def generate(command: str, *options: str, cwd: Path) -> None:
    """Run a generator from the virtual environment."""
    whole = [str(Path(python).parent / command), *options]
    done = subprocess.run(whole, cwd=cwd, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> str:
    """The document as a file, in a folder from which modules are imported."""
    (tmp_path / "openapi.json").write_text(document_text(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return str(tmp_path / "openapi.json")


@pytest.fixture
def client(document: str, tmp_path: Path) -> ModuleType:
    """The client of openapi-python-client; generated without warnings."""
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    options = ("--path", document, "--meta", "none", "--output-path", "headline_client", "--config", "config.yml")
    generate("openapi-python-client", "generate", "--fail-on-warning", *options, cwd=tmp_path)
    for name in [name for name in sys.modules if name.startswith("headline_client")]:
        del sys.modules[name]
    return importlib.import_module("headline_client")


@pytest.mark.thorough
def test_models_are_generated_from_the_document(document: str, tmp_path: Path) -> None:
    kinds = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin")
    generate("datamodel-codegen", "--input", document, "--output", "headline_models.py", *kinds, cwd=tmp_path)
    models = importlib.import_module("headline_models")
    task = models.NewTaskRequest(
        task_type="mail.send", execute_time="2100-01-01T12:00:00Z", parameters=[{"to": "desk"}]
    )
    assert task.model_dump(mode="json")["parameters"] == [{"to": "desk"}]
    assert [status.name for status in models.TaskStatus] == TaskInfoLog.Status.names
    assert [status.name for status in models.ArticleStatus] == Article.Status.names
    assert "VALUE_0" not in (tmp_path / "headline_models.py").read_text()


def test_a_generated_client_runs_a_newsroom_for_a_day(client: ModuleType, site: Site) -> None:
    names = [name for _finder, name, _is_package in walk_packages(client.__path__, "headline_client.")]
    assert len(names) > 150
    for name in names:
        importlib.import_module(name)
    make_channel()
    make_member(Role.CHIEF, "chief")
    User.objects.get(username="chief").user_permissions.add(Permission.objects.get(codename="operate_tasks"))
    for role, name in ((Role.EDITOR, "mei"), (Role.REVIEWER, "rita")):
        make_member(role, name)
    with ExitStack() as open_clients:
        mei, rita, chief = (log_in(client, site, name, open_clients) for name in ("mei", "rita", "chief"))
        article = write(mei)
        go_live(article, mei, rita, chief)
        correct(article, mei, rita, chief)
        retract(article, chief)
        release_together(mei, rita, chief)
        act_on_many(chief)
        read_what_happened(article, chief)
        run_a_task(chief)


def log_in(client: ModuleType, site: Site, name: str, open_clients: ExitStack) -> Newsroom:
    """As a program does, by name and password."""
    stranger = Newsroom(open_clients.enter_context(client.Client(base_url=site.url)))
    token = stranger("token_create", "CredentialsRequest", username=name, password="secret").token  # noqa: S106
    newsroom = Newsroom(open_clients.enter_context(client.AuthenticatedClient(base_url=site.url, token=token)))
    assert newsroom("desk_me_retrieve").username == name
    return newsroom


def write(author: Newsroom) -> int:
    """A draft with a cover, submitted for review; its id."""
    types = importlib.import_module("headline_client.types")
    file = types.File(payload=BytesIO(image_bytes()), file_name="harbour.png", mime_type="image/png")
    image = author("desk_images_create", "UploadRequest", file=file, alt="The harbour")
    texts = {"title": "新闻", "summary": "What we know", "body": "<p>The bridge opens.</p>", "channel": "politics"}
    made = author("desk_articles_create", "DeskArticleRequest", **texts)
    assert [one.id for one in author("desk_articles_list").results] == [made.id]
    one = author.model("CoverMode").ONE
    covered = author(
        "desk_articles_partial_update", "PatchedDeskArticleRequest", id=made.id, cover_mode=one, cover=[image.id]
    )
    assert covered.cover == [image.id]
    assert author("desk_articles_submit", id=made.id).status_name == "manual_review"
    return int(made.id)


def go_live(article: int, author: Newsroom, reviewer: Newsroom, chief: Newsroom) -> None:
    """Reviewed, approved, scheduled, rescheduled and published by the clock."""
    waiting = reviewer("desk_articles_claim", id=article)
    reviewer("desk_articles_approve", "ApprovalRequest", id=article, revision=waiting.revision)
    later = datetime.now(UTC) + timedelta(days=1)
    planned = chief("desk_articles_schedule", "ScheduleRequest", id=article, publish_at=later)
    assert (planned.publish_at, planned.status_name) == (later, "manually_approved")
    assert chief.status_of("articles_retrieve", id=article) == 404
    assert chief.status_of("desk_articles_unschedule", id=article, if_match='"stale"') == 412
    chief("desk_articles_schedule", "ScheduleRequest", id=article, publish_at=soon(seconds=1))
    assert eventually(lambda: chief.status_of("articles_retrieve", id=article) == 200)
    assert [one.id for one in author("articles_list", slug=author("articles_retrieve", id=article).slug).results]


def correct(article: int, author: Newsroom, reviewer: Newsroom, chief: Newsroom) -> None:
    """A correction is written, approved and published."""
    change = {"title": "新闻（更正）", "note": "The date", "correction": "It opens on Friday."}
    author("desk_articles_partial_update", "PatchedDeskArticleRequest", id=article, **change)
    author("desk_articles_submit", id=article)
    newest = author("desk_revisions_list", article=article).results[0].number
    reviewer("desk_articles_approve", "ApprovalRequest", id=article, revision=newest)
    if chief("articles_retrieve", id=article).title != change["title"]:
        chief("desk_articles_update_publish", id=article)
    shown = author("articles_retrieve", id=article)
    assert (shown.title, [one.note for one in shown.corrections]) == (change["title"], [change["correction"]])


def retract(article: int, chief: Newsroom) -> None:
    """Readers get the notice, and a follower of the change feed drops it."""
    known = chief("articles_list", updated_since="2000-01-01T00:00:00Z")
    assert [one.id for one in known.results] == [article]
    chief("desk_articles_retract", "RetractRequest", id=article, notice="It was invented.")
    assert chief.status_of("articles_retrieve", id=article) == 410
    followed = chief("articles_list", updated_since=known.checkpoint)
    assert [(one.id, one.kind.value) for one in followed.removed] == [(article, "retracted")]


def release_together(author: Newsroom, reviewer: Newsroom, chief: Newsroom) -> None:
    """Two articles go live at once, and are taken back."""
    release, pair = chief("desk_releases_create", "ReleaseRequest", name="Budget day"), []
    for title in ("Budget", "Comment"):
        made = author("desk_articles_create", "DeskArticleRequest", title=title, body="<p>Text.</p>")
        author("desk_articles_submit", id=made.id)
        reviewer("desk_articles_approve", "ApprovalRequest", id=made.id, revision=made.revision)
        chief("desk_releases_add_member", "NewMemberRequest", id=release.id, article=made.id)
        pair.append(made.id)
    assert chief("desk_releases_preflight", id=release.id) == []
    chief("desk_releases_publish", id=release.id)
    assert {one.id for one in chief("articles_list").results} == set(pair)
    chief("desk_releases_rollback", id=release.id)
    assert chief("articles_list").results == []


def act_on_many(chief: Newsroom) -> None:
    """Three drafts are submitted, with a row of the answer for each; one does not exist."""
    drafts = [make_article(f"Draft {number}", body="<p>Text.</p>").pk for number in range(2)]
    step = chief.model("TransitionEnum").SUBMIT
    done = chief("desk_bulk_actions_create", "NewBulkActionRequest", transition=step, articles=[*drafts, 10**9])
    assert [row.article for row in done.results] == [*drafts, 10**9]
    undone = chief("desk_bulk_actions_undo", id=done.id)
    assert (undone.is_undo, Article.objects.filter(pk__in=drafts, status=Article.Status.DRAFT).count()) == (True, 2)


def read_what_happened(article: int, chief: Newsroom) -> None:
    found = [entry.action for entry in chief("desk_audit_list", article=article, page_size=50).results]
    assert {"create", "submit", "approve", "schedule", "edit", "retract"} <= set(found)


def run_a_task(newsroom: Newsroom) -> None:
    wanted = {"task_type": "mail.send", "execute_time": read_database_clock(), "parameters": ["desk", 7]}
    added = newsroom("tasks_create", "NewTaskRequest", **wanted)
    (leased,) = newsroom("tasks_poll", "PollRequest", task_type="mail.send", limit=5)
    assert (leased.task_id, leased.parameters) == (added.task_id, ["desk", 7])
    done = newsroom("tasks_complete", "LeaseRequest", task_id=leased.task_id, lease_token=leased.lease_token)
    assert (done.task_id, done.status.name, done.status_name) == (added.task_id, "EXECUTED", "executed")
    assert TaskInfoLog.objects.get(task_id=int(done.task_id)).status == TaskInfoLog.Status.EXECUTED


class Newsroom:
    """Calls the operations of a generated client by their ids."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __call__(self, operation: str, body: str = "", /, **values: Any) -> Any:
        """The parsed response; with a `body`, values that are no parameters of the operation are of that model."""
        response = self._send(operation, body, values)
        assert response.status_code < 300, response.content
        return response.parsed

    def status_of(self, operation: str, **values: Any) -> int:
        """The status of the response."""
        return int(self._send(operation, "", values).status_code)

    @staticmethod
    def model(name: str) -> Any:
        """A generated model."""
        return getattr(importlib.import_module("headline_client.models"), name)

    def _send(self, operation: str, body: str, values: dict[str, Any]) -> Any:
        module = importlib.import_module(f"headline_client.api.{operation.split('_')[0]}.{operation}")
        call = module.sync_detailed
        if body:
            taken = signature(call).parameters
            outside = {name: values.pop(name) for name in [*values] if name in taken and name != "body"}
            return call(client=self._client, body=self.model(body)(**values), **outside)
        return call(client=self._client, **values)
