"""API clients that two generators make from the OpenAPI document: both are complete, and one runs a newsroom."""

from __future__ import annotations

import importlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest
from rest_framework.test import APIClient

from articles.models import Article
from scheduling.models import TaskInfoLog
from scheduling.services import read_database_clock
from tests.articles.factories import APPROVED, make_article, make_user
from tests.conftest import Site
from tests.harness import PATIENCE, python


def generate(command: str, *options: str, cwd: Path) -> None:
    """Run a generator from the virtual environment."""
    whole = [str(Path(python).parent / command), *options]
    done = subprocess.run(whole, cwd=cwd, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> str:
    """The document as a file, in a folder from which modules are imported."""
    response = APIClient().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    (tmp_path / "openapi.json").write_bytes(response.content)
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


def test_a_generated_client_runs_a_newsroom(client: ModuleType, site: Site) -> None:
    rights = ("add_article", "change_article", "view_article", "schedule_article", "operate_tasks")
    make_user("robot", *rights)
    with client.Client(base_url=site.url) as stranger:
        token = Newsroom(stranger)("token_create", body="CredentialsRequest", username="robot", password="secret").token  # noqa: S106
    with client.AuthenticatedClient(base_url=site.url, token=token) as signed_in:
        run_a_newsroom(Newsroom(signed_in))


def test_every_module_of_a_generated_client_is_imported(client: ModuleType) -> None:
    modules = [name for _finder, name, _is_package in walk_packages(client.__path__, "headline_client.")]
    assert len(modules) > 150
    for name in modules:
        importlib.import_module(name)


def run_a_newsroom(newsroom: Newsroom) -> None:
    made = newsroom("desk_articles_create", body="DeskArticleRequest", title="新闻", summary="What we know")
    assert [one.id for one in newsroom("desk_articles_list").results] == [made.id]
    approved, later = make_article(status=APPROVED), datetime.now(UTC) + timedelta(days=1)
    planned = newsroom("desk_articles_schedule", id=approved.pk, body="ScheduleRequest", publish_at=later)
    assert (planned.publish_at, planned.status.name) == (later, "APPROVED")
    assert newsroom("articles_list", updated_since="2000-01-01T00:00:00Z").results == []
    run_a_task(newsroom)


def run_a_task(newsroom: Newsroom) -> None:
    wanted = {"task_type": "mail.send", "execute_time": read_database_clock(), "parameters": ["desk", 7]}
    added = newsroom("tasks_create", body="NewTaskRequest", **wanted)
    (leased,) = newsroom("tasks_poll", body="PollRequest", task_type="mail.send", limit=5)
    assert (leased.task_id, leased.parameters) == (added.task_id, ["desk", 7])
    done = newsroom("tasks_complete", task_id=leased.task_id, body="LeaseRequest", lease_token=leased.lease_token)
    assert (done.task_id, done.status.name) == (added.task_id, "EXECUTED")
    assert TaskInfoLog.objects.get(task_id=int(done.task_id)).status == TaskInfoLog.Status.EXECUTED


class Newsroom:
    """Calls the operations of a generated client by their ids."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __call__(self, operation: str, *, body: str = "", **values: Any) -> Any:
        """The response of the operation; with a `body`, values that are no id are of that model."""
        module = importlib.import_module(f"headline_client.api.{self._group(operation)}.{operation}")
        path = {name: values.pop(name) for name in ("id", "task_id") if name in values}
        if body:
            model = getattr(importlib.import_module("headline_client.models"), body)
            values = {"body": model(**values)}
        response = module.sync_detailed(client=self._client, *path.values(), **values)  # noqa: B026
        assert response.status_code < 300, response.content
        return response.parsed

    @staticmethod
    def _group(operation: str) -> str:
        return operation.split("_")[0]
