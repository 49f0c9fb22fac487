"""Fuzzing: for any input, every operation responds as documented, without server errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given, strategies as st
from rest_framework.test import APIClient

from scheduling.database import read_database_clock
from scheduling.services import add_task
from tests.articles.factories import make_article, make_channel
from tests.drawn import drawing
from tests.headline.api_document import api_document
from tests.headline.test_api_schema import operations

pytestmark = pytest.mark.django_db

SIGNALLING = st.sampled_from(
    [0, -1, 2**63, 10**400, 1e308, True, "", " ", "\0", "\ud800", "𝓗", "nan", "2100-01-01T00:00:00", "x" * 70_000]
    + ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2100-01-01T12:00:00Z", "politics", "../../etc"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | SIGNALLING
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@pytest.fixture
def admin() -> APIClient:
    client = APIClient(raise_request_exception=True)
    client.force_authenticate(User.objects.create_superuser("alice", pk=2_000_000))  # no request is about her
    return client


@pytest.fixture
def targets() -> dict[str, int]:
    """A real object for each kind of URL with an id."""
    make_channel()
    task = add_task("mail.send", execute_time=read_database_clock(), parameters={})
    return {"{id}": make_article().pk, "{task_id}": task.task_id}


def document() -> dict[str, Any]:
    schema = api_document()
    return schema


def test_no_body_and_no_parameter_breaks_an_operation(admin: APIClient, targets: dict[str, int]) -> None:
    schema = document()

    @drawing(60)
    @given(st.data())
    def send(data: st.DataObject) -> None:
        path, method, operation = data.draw(st.sampled_from(sorted(operations(schema).values(), key=str)))
        for name, target in targets.items():
            path = path.replace(name, str(target))
        names = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"]
        query = {name: str(data.draw(LEAVES)).encode(errors="replace") for name in names if data.draw(st.booleans())}
        if method == "get":
            response = getattr(admin, method)(path, query)
        else:
            body = {name: data.draw(JSON) for name in fields(schema, operation) if data.draw(st.booleans())}
            content = json.dumps(body if data.draw(st.integers(0, 9)) else data.draw(JSON))
            response = getattr(admin, method)(path, content, content_type="application/json")
        assert str(response.status_code) in operation["responses"], response.content

    send()


def fields(schema: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    """The names that the operation's body may have."""
    if "requestBody" not in operation:
        return []
    content = next(iter(operation["requestBody"]["content"].values()))
    reference = content["schema"]["$ref"]
    return sorted(schema["components"]["schemas"][re.sub(r".*/", "", reference)]["properties"])
