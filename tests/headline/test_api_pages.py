"""Every list of the API is read to its end through `next`, one row a page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from articles.models import (
    Alert,
    Article,
    ArticleTemplate,
    Delivery,
    Endpoint,
    Front,
    FrontVersion,
    Image,
    ImageUse,
    Notification,
    SavedView,
    SensitiveWord,
    Tag,
)
from articles.notes import add_note
from articles.publishing import gather_articles, make_preview_link, share_page, start_bulk_action
from articles.review import propose
from articles.workflow import Transition
from headline.api.service_accounts import create_service_account
from headline.api.tokens import issue
from scheduling.database import read_database_clock
from scheduling.services import add_task
from tests.articles.factories import make_article, make_channel, make_release, soon
from tests.headline.api_document import api_document
from tests.headline.test_api_schema import filled, operations

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(root: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(root)
    return client


@pytest.fixture
def article(root: User) -> Article:
    """With two rows in every list."""
    past = soon(hours=-1)
    first, second = (make_article(title, status=Article.Status.PUBLISHED, publish_at=past) for title in "AB")
    shape = {"format": "png", "width": 320, "height": 240, "widths": [320], "size": 1}
    images = [Image.objects.create(title=name, alt=name, digest=name, **shape) for name in "ab"]
    for number in range(2):
        Alert.objects.create(article=(first, second)[number], text=f"Alert {number}")
        add_note(first, by=root, text=f"Check {number}")
        make_release(by=root, name=f"Release {number}")
        add_task("mail.send", execute_time=read_database_clock(), parameters={})
        issue(root, by=root, name=f"token {number}")
        create_service_account(name=f"robot {number}", purpose="", roles=(), by=root)
        propose(make_channel(f"Channel {number}"), {"description": "Rain"}, name=f"Channel {number}", by=root)
        Tag.objects.create(name=f"Tag {number}")
        ArticleTemplate.objects.create(name=f"Template {number}")
        SavedView.objects.create(owner=root, name=f"View {number}", query="")
        SensitiveWord.objects.create(text=f"forbidden word {number}")
        Notification.objects.create(user=root, kind="approved", article_title="A", at=past)
        make_preview_link(first, by=root, lasts=timedelta(days=1))
        share_page("/", at=soon(days=1), by=root, lasts=timedelta(hours=1))
        start_bulk_action(gather_articles(Transition.SUBMIT, [(first.pk, "A")], by=root))
    webhooks = [Endpoint.objects.create(pk=first.pk + number, url="https://example.com") for number in range(2)]
    Delivery.objects.bulk_create(Delivery(endpoint=webhooks[0], object_id=first.pk, due_at=past) for _number in "ab")
    front = Front.objects.create(pk=first.pk, slug="en", language="en")
    Front.objects.create(slug="zh-hans", language="zh-hans")
    FrontVersion.objects.bulk_create(FrontVersion(front=front, number=number) for number in range(2))
    first.title = "A later headline"
    first.save()
    ImageUse.objects.bulk_create(ImageUse(article=one, image=images[0]) for one in (first, second))
    return first


def test_every_list_is_followed_to_its_end(client: APIClient, article: Article) -> None:
    documented = operations(api_document())
    followed = [
        (name, path)
        for name, (path, method, operation) in documented.items()
        if method == "get" and "cursor" in {parameter["name"] for parameter in operation.get("parameters", ())}
    ]
    assert len(followed) >= 9
    for name, path in followed:
        target = Image.objects.get(title="a").pk if "/images/" in path else article.pk
        rows = rows_of(client, f"{filled(path, str(target))}?page_size=1", name)
        assert len(rows) >= 2, f"{name}: make two rows for it"
        assert len({str(row) for row in rows}) == len(rows), f"{name} repeats rows"


def rows_of(client: APIClient, address: str | None, name: str) -> list[Any]:
    """The rows of all pages."""
    rows: list[Any] = []
    while address:
        response = client.get(address)
        assert response.status_code == 200, f"{name}: {response.content.decode()}"
        page = response.json()
        assert len(page["results"]) == 1, name
        rows += page["results"]
        address = page["next"]
    return rows
