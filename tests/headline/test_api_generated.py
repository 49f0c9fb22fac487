"""Requests that schemathesis generates from the OpenAPI document get documented responses, none of them a fault.

`make api-check` sends hundreds to each operation; the suite one, right or wrong in turn, as each costs 20 ms.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any, cast

import pytest
import schemathesis
from django.contrib.auth.models import Group, User
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from articles.images import upload
from articles.models import (
    Article,
    ArticleTemplate,
    AuditEntry,
    BulkAction,
    Channel,
    Notification,
    SavedView,
    SensitiveWord,
    Tag,
)
from articles.notes import add_note
from articles.publishing import gather_articles, make_preview_link, share_page, start_bulk_action
from articles.workflow import Transition
from headline.api.models import ApiToken
from headline.api.service_accounts import create_service_account
from headline.api.throttling import AddressThrottle
from headline.api.tokens import issue
from headline.api.wire import ApiMiddleware
from scheduling.database import read_database_clock
from scheduling.services import add_task, poll
from tests.articles.factories import make_article, make_channel, make_release, soon
from tests.articles.image_files import image_bytes, sent
from tests.headline.api_document import api_document
from tests.headline.test_api_wire import open_connection
from tests.share import in_short, share_of

pytestmark = pytest.mark.django_db

DESK = "/api/v1/desk/"
Status = Article.Status
REQUESTS = int(os.environ.get("API_REQUESTS", "0"))
SEED = int(os.environ.get("API_SEED", "1"))
CHECKS = [
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture
def rows(root: User) -> dict[str, list[tuple[Any, ...]]]:
    """What paths with this beginning may name: values of their parameters, longest beginning first."""
    articles = [
        make_article("Draft", body="<p>Text</p>", channel=make_channel()),
        make_article("Waiting", status=Status.MANUAL_REVIEW),
        make_article("Ready", status=Status.APPROVED, publish_at=soon(hours=1)),
        make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1)),
    ]
    live = articles[-1]
    thread = add_note(live, by=root, text="Source?")
    release = make_release(articles[2], by=root)
    start_bulk_action(gather_articles(Transition.SUBMIT, [(articles[0].pk, "Draft")], by=root))
    Notification.objects.create(user=root, kind="approved", article_title="A", at=read_database_clock())
    link = make_preview_link(articles[0], by=root, lasts=timedelta(days=1))
    issue(root, by=root, name="x")
    tasks = [add_task("mail.send", execute_time=read_database_clock(), parameters={}).task_id for _number in range(2)]
    poll("mail.send")
    made = {
        "bulk-actions": BulkAction.objects.latest("pk"),
        "images": upload(sent(image_bytes()), by=root, title="a", alt="a").image,
        "roles": Group.objects.latest("pk"),
        "service-accounts": create_service_account(name="robot", purpose="", roles=(), by=root),
        "shared-pages": share_page("/", at=soon(days=1), by=root, lasts=timedelta(hours=1)),
        "tags": Tag.objects.create(name="Rain"),
        "templates": ArticleTemplate.objects.create(name="Match report"),
        "users": User.objects.create_user("mei", email="mei@example.org", is_staff=True),
        "views": SavedView.objects.create(owner=root, name="Mine", query=""),
        "words": SensitiveWord.objects.create(text="forbidden word"),
        "audit": AuditEntry.objects.latest("pk"),
        "channels": Channel.objects.latest("pk"),
        "notifications": Notification.objects.latest("pk"),
        "tokens": ApiToken.objects.latest("pk"),
    }
    return {
        f"{DESK}articles/{{article}}/notes/": [(live.pk, thread.pk)],
        f"{DESK}articles/{{article}}/preview-links/": [(articles[0].pk, link.pk)],
        f"{DESK}articles/{{article}}/revisions/": [(article.pk, 1) for article in articles],
        f"{DESK}articles/": [(article.pk,) for article in articles],
        f"{DESK}releases/": [(release.pk, release.members.latest("pk").pk)],
        "/api/v1/articles/": [(live.pk,)],
        "/api/v1/tasks/": [(str(task),) for task in tasks],
        **{f"{DESK}{name}/": [(row.pk,)] for name, row in made.items()},
    }


@in_short(2)
def test_generated_requests_get_documented_responses(
    root: User, rows: dict[str, list[tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    monkeypatch.setattr(AddressThrottle, "rate", "1000000/min", raising=False)
    secret = issue(root, by=root, name="probe")[1]
    schema = schemathesis.openapi.from_dict(api_document())
    schema.app = ApiMiddleware(get_wsgi_application(), ())
    faults: dict[str, str] = {}
    with open_connection():
        for number, result in enumerate(schema.get_all_operations()):
            operation = cast(Any, result).ok()
            if not share_of([operation.label], 1 if REQUESTS else share):
                continue
            named = next((values for start, values in rows.items() if operation.path.startswith(start)), [])
            for mode in GenerationMode if REQUESTS else [[*GenerationMode][number % 2]]:
                try:
                    check(operation, mode, named, {"Authorization": f"Bearer {secret}"})
                except Unsatisfiable:  # nothing about it can be wrong
                    continue
                except (Exception, BaseExceptionGroup) as error:
                    faults[f"{operation.label} {mode.value}"] = "".join(map(str, getattr(error, "exceptions", [error])))
    assert not faults, "\n\n".join(f"{name}\n{fault}" for name, fault in faults.items())


def check(operation: Any, mode: GenerationMode, named: list[tuple[Any, ...]], headers: dict[str, str]) -> None:
    """Send requests, most of them for rows that exist. Raises what schemathesis finds."""
    values = st.none() | st.sampled_from(named) if named else st.none()

    @seed(SEED)
    @settings(
        max_examples=REQUESTS or 1, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(operation.as_strategy(generation_mode=mode), values)
    def send(case: Any, values: tuple[Any, ...] | None) -> None:
        (case.query or {}).pop("fields", None)  # with it, fields that the document requires are left out
        if values:
            case.path_parameters.update(zip(re.findall(r"{(\w+)}", operation.path), values, strict=False))
        with transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        case.validate_response(response, checks=CHECKS)

    send()
