"""A program that composes a front through the newsroom's API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from rest_framework.test import APIClient

from articles.models import Article

FRONTS = "/api/v1/desk/fronts/"


class Composer:
    """A user at work on a draft of a front, as it was when it was last read."""

    def __init__(self, user: User, front: int, version: int) -> None:
        self.client = client_of(user)
        self.address = f"{FRONTS}{front}/versions/{version}/"
        self.read()

    @classmethod
    def start(cls, user: User, *, language: str = "en", **values: Any) -> Composer:
        """On a new draft of the front of a language."""
        client = client_of(user)
        front = client.post(FRONTS, {"language": language, **values}).json()["id"]
        version = client.post(f"{FRONTS}{front}/versions/", {}).json()["id"]
        return cls(user, front, version)

    def read(self) -> dict[str, Any]:
        """The draft as it is now."""
        answer = self.client.get(self.address)
        self.shown: dict[str, Any] = answer.json()
        self.etag = answer["ETag"]
        return self.shown  # type: ignore[no-any-return]

    @property
    def cards(self) -> list[dict[str, Any]]:
        """All cards of the first block."""
        return list(self.shown["blocks"][0]["cards"])

    @property
    def block(self) -> str:
        """The uuid of the first block."""
        return str(self.shown["blocks"][0]["uuid"])

    def edit(self, *operations: dict[str, Any], **headers: str) -> Any:
        """Send operations with the base that was read, and read again."""
        body = {"base": self.shown["edits"], "operations": list(operations)}
        answer = self.client.post(f"{self.address}operations/", body, headers=headers)
        if answer.status_code == 200:
            self.read()
        return answer

    def post(self, action: str, **body: Any) -> Any:
        """Another action on the draft."""
        return self.client.post(f"{self.address}{action}/", body)

    def add(self, article: Article | None = None, *, after: str | None = None, **values: Any) -> dict[str, Any]:
        """The operation that adds a card, by default in front."""
        subject = {"article": article.pk} if article else {}
        return {
            "op": "add_card",
            "uuid": str(uuid4()),
            "block": self.block,
            "after": after,
            "card": {**subject, **values},
        }


def card_edit(uuid: str, **values: Any) -> dict[str, Any]:
    """The operation that edits a card."""
    return {"op": "edit_card", "uuid": uuid, "card": values}


def client_of(user: User) -> APIClient:
    """A signed-in program."""
    client = APIClient()
    client.force_authenticate(user)
    return client
