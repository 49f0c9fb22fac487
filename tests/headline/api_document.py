"""The OpenAPI document, generated once in each process of the tests: it costs half a second."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from rest_framework.test import APIClient


@cache
def document_text() -> str:
    """As programs get it. Needs the database at the first call."""
    response = APIClient().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def api_document() -> dict[str, Any]:
    """A copy that may be changed."""
    document: dict[str, Any] = json.loads(document_text())
    return document
