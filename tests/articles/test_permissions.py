"""Every role × status × action, and every role × action from each source: allowed, or refused without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from articles import publishing
from articles.audit import Action
from articles.exceptions import ArticleError, NotAllowed, ReasonMissing
from articles.models import Article, AuditEntry, Notification, Revision, SoftLock
from articles.publishing import perform
from articles.roles import ROLES, Role
from articles.workflow import TRANSITIONS, Transition
from scheduling.models import TaskInfo, TaskInfoLog
from tests.articles.desk.articles.test_admin import is_asked, response_to
from tests.articles.factories import approve, make_article, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status

WAITING = {Status.MANUALLY_APPROVED, Status.APPROVED}
UNAPPROVED = {Status.DRAFT, Status.SUBMITTED, Status.REJECTED, Status.MANUAL_REVIEW}

SOURCES: Mapping[str, set[Status]] = {
    Transition.SUBMIT: {Status.DRAFT, Status.REJECTED},
    Transition.APPROVE: {Status.MANUAL_REVIEW},
    Transition.REJECT: {Status.MANUAL_REVIEW},
    Transition.SCHEDULE: WAITING,
    Transition.UNSCHEDULE: WAITING,
    Transition.PUBLISH_NOW: WAITING,
    Transition.UNPUBLISH: {Status.PUBLISHED},
    Transition.REPUBLISH: {Status.UNPUBLISHED},
    Transition.RETRACT: WAITING | {Status.PUBLISHED, Status.UNPUBLISHED},
    Transition.UNDO_RETRACTION: {Status.RETRACTED},
    Action.EDIT: set(Status) - {Status.RETRACTED},
}
PUBLISHING = {
    Transition.SCHEDULE,
    Transition.UNSCHEDULE,
    Transition.PUBLISH_NOW,
    Transition.UNPUBLISH,
    Transition.REPUBLISH,
}
MAY: Mapping[Role, set[str]] = {
    Role.AUTHOR: {Transition.SUBMIT, Action.EDIT},
    Role.EDITOR: {Transition.SUBMIT, Action.EDIT},
    Role.REVIEWER: {Transition.APPROVE, Transition.REJECT},
    Role.PUBLISHER: {*PUBLISHING},
    Role.CHIEF: {*SOURCES},
    Role.OPERATOR: set(),
}
REASON = "No second source"
NEW_TITLE = "Mayor stays"

DONE = ""
REFUSED = "refused"


def by_python(user: User, article: Article, action: str, moment: datetime) -> str:
    try:
        if action == Action.EDIT:
            publishing.edit(article, by=user, changes={"title": NEW_TITLE})
        else:
            perform(Transition(action), article, by=user, publish_at=moment, reason=REASON, notice=REASON, revision=1)
    except ArticleError as refusal:
        return refusal.code
    return DONE


def by_command(user: User, article: Article, action: str, moment: datetime) -> str:
    errors = StringIO()
    options = ["--by", user.username, "--at", moment.isoformat(), "--reason", REASON, "--revision", "1"]
    try:
        call_command("article", action, str(article.pk), *options, stdout=StringIO(), stderr=errors)
    except SystemExit as end:
        assert end.code == 1
    return errors.getvalue().partition(": ")[2].partition(": ")[0]


def by_api(user: User, article: Article, action: str, moment: datetime) -> str:
    client, address = APIClient(), f"/api/v1/desk/articles/{article.pk}/"
    client.force_authenticate(user)
    if action == Action.EDIT:
        response = client.patch(address, {"title": NEW_TITLE})
    else:
        body = {
            Transition.SCHEDULE: {"publish_at": moment},
            Transition.REJECT: {"reason": REASON},
            Transition.RETRACT: {"notice": REASON},
        }
        body[Transition.APPROVE] = {"revision": 1}
        response = client.post(f"{address}{TRANSITIONS[Transition(action)].path}/", body.get(Transition(action)))
    assert response.status_code in ({200} if "code" not in response.json() else {403, 409})
    return str(response.json().get("code", DONE))


def by_admin(user: User, article: Article, action: str, moment: datetime) -> str:
    client = Client()
    client.force_login(user)
    sent = {"title": article.title, "slug": article.slug, "author": article.author_id, "reason": REASON, "base": 1}
    sent["seen"] = Article.objects.get(pk=article.pk).changed_at.isoformat()
    sent["title"] = NEW_TITLE if action == Action.EDIT else article.title
    time = moment if action == Transition.SCHEDULE else article.publish_at
    button = "_save" if action == Action.EDIT else f"_step_{action}"
    sent |= {"publish_at": wall(time), button: "1"}
    address = reverse("admin:articles_article_change", args=[article.pk])
    response = client.post(address, sent)
    if is_asked(response):
        response = client.post(address, response_to(response))
    if response.status_code == 200:
        assert response.context["errors"]
    if action == Action.EDIT and not AuditEntry.objects.filter(action=Action.EDIT, article_id=article.pk).exists():
        return REFUSED  # the form has no field for it for users who may only read the text
    return {302: DONE, 200: REFUSED, 403: REFUSED}[response.status_code]


def wall(moment: datetime | None) -> str:
    return timezone.localtime(moment).replace(tzinfo=None).isoformat() if moment else ""


BY_SOURCE: Mapping[str, Callable[[User, Article, str, datetime], str]] = {
    "python": by_python,
    "command": by_command,
    "api": by_api,
    "admin": by_admin,
}


def article_in(status: Status, author: User) -> Article:
    is_out = status in {Status.PUBLISHED, Status.UNPUBLISHED, Status.RETRACTED}
    time = soon(hours=-1) if is_out else soon(hours=1).replace(microsecond=0)
    values = {"status": status, "publish_at": time, "published_at": time if is_out else None}
    return make_article("Mayor resigns", slug="mayor", author=author, **values)


def everything(article: Article) -> dict[Any, Any]:
    """Everything an action could have changed: the article, and the number of rows of each table."""
    models = (Article, Revision, AuditEntry, Notification, TaskInfo, TaskInfoLog)
    counts = dict(zip(models, _counts(models), strict=True))
    tasks = TaskInfo.objects.filter(key=str(article.pk)).order_by("pk").values()
    return counts | {"article": Article.objects.filter(pk=article.pk).values().get(), "tasks": list(tasks)}


def _counts(models: Iterable[type[Model]]) -> Iterable[int]:
    """The number of rows of each table, in one statement: this is called a thousand times."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"(SELECT COUNT(*) FROM {model._meta.db_table})" for model in models))
        return tuple(cursor.fetchone())


def expected(role: Role, status: Status, action: str) -> str:
    if action not in MAY[role] or (role == Role.AUTHOR and status not in UNAPPROVED):
        return NotAllowed.code
    return DONE if status in SOURCES[action] else "wrong_state"


def mainly(*roles: Role) -> list[Any]:
    """Each role; `make thorough` tries the others than these."""
    return [role if role in roles else pytest.param(role, marks=pytest.mark.thorough) for role in Role]


@pytest.mark.parametrize("role", Role)
def test_each_right_in_each_status(role: Role) -> None:
    """R5.1 R5.3 R5.5: the table of roles, states and actions."""
    check_rights("python", role, {action: list(Status) for action in SOURCES})


@pytest.mark.parametrize("role", mainly(Role.AUTHOR, Role.CHIEF))
@pytest.mark.parametrize("source", set(BY_SOURCE) - {"python"})
def test_each_right_from_each_source(source: str, role: Role) -> None:
    """The other sources pass each action on to the same functions: one status that allows it, and one that does not.

    Who lacks the right is refused in the status that would allow it.
    """
    actions = [action for action in SOURCES if (source, action) != ("command", Action.EDIT)]
    check_rights(source, role, {action: _tried(SOURCES[action], action in MAY[role]) for action in actions})


def _tried(allowed: set[Status], has_right: bool) -> list[Status]:
    return [min(allowed), min(set(Status) - allowed)] if has_right else [min(allowed)]


def check_rights(source: str, role: Role, statuses: Mapping[str, list[Status]]) -> None:
    """Try each action in its statuses; what is refused changes nothing."""
    member, other, moment = make_member(role), make_user("other"), soon(hours=3).replace(microsecond=0)
    for status in Status:
        article = None
        for action in (action for action, tried in statuses.items() if status in tried):
            if article is None:
                article = article_in(status, member if role == Role.AUTHOR else other)
                before = everything(article)
            wanted = expected(role, status, action)
            outcome = BY_SOURCE[source](member, article, action, moment)
            case = f"{role} {action} {status.name}"
            if wanted == DONE:
                entry = AuditEntry.objects.latest("id")
                assert (outcome, entry.action, entry.source, entry.user_id) == (DONE, action, source, member.pk), case
                article = None
            else:
                assert outcome in {wanted, REFUSED}, case
                assert everything(article) == before, case


def claim_by_python(user: User, article: Article, verb: str) -> bool:
    try:
        {"claim": publishing.soft_lock, "unclaim": publishing.release_soft_lock}[verb](article, by=user)
    except ArticleError:
        return False
    return True


def claim_by_api(user: User, article: Article, verb: str) -> bool:
    client = APIClient()
    client.force_authenticate(user)
    response = client.post(f"/api/v1/desk/articles/{article.pk}/{verb}/")
    assert response.status_code in {200, 403, 409}
    return response.status_code == 200


def claim_by_admin(user: User, article: Article, verb: str) -> bool:
    client = Client()
    client.force_login(user)
    button = {"claim": "claim", "unclaim": "release"}[verb]
    response = client.post(
        reverse("admin:articles_queuedarticle_change", args=[article.pk]), {"revision": 1, button: "1"}
    )
    return response.status_code == 302 and response.headers["Location"].endswith("/change/")


@pytest.mark.cases(3)
@pytest.mark.parametrize("claim_by", [claim_by_python, claim_by_api, claim_by_admin])
@pytest.mark.parametrize("role", mainly(Role.EDITOR, Role.REVIEWER))
def test_reviewers_claim_what_waits_for_them_from_every_source(
    role: Role, claim_by: Callable[[User, Article, str], bool]
) -> None:
    """R5.3"""
    member, other = make_member(role), make_user("other")
    for status in Status:
        article = article_in(status, other)
        may = role in {Role.REVIEWER, Role.CHIEF} and status == Status.MANUAL_REVIEW
        assert claim_by(member, article, "claim") == may, status
        assert SoftLock.objects.filter(article=article, user=member).exists() == may
        if status == Status.MANUAL_REVIEW:
            claim_by(member, article, "unclaim")
            assert not SoftLock.objects.exists()
    assert not claim_by(member, article_in(Status.MANUAL_REVIEW, member), "claim"), "nobody reviews his own"


@pytest.mark.parametrize("source", BY_SOURCE)
def test_an_author_changes_and_submits_nothing_of_others(source: str) -> None:
    wen, article = make_member(Role.AUTHOR), article_in(Status.DRAFT, make_user("other"))
    before = everything(article)
    for action in (Transition.SUBMIT,) if source == "command" else (Transition.SUBMIT, Action.EDIT):
        assert BY_SOURCE[source](wen, article, action, soon()) in {NotAllowed.code, REFUSED}
    assert everything(article) == before


@pytest.mark.cases(3)
@pytest.mark.parametrize("role", [Role.REVIEWER, Role.CHIEF])
@pytest.mark.parametrize("source", BY_SOURCE)
def test_no_one_reviews_their_own_article(source: str, role: Role) -> None:
    """R5.3"""
    nadia = make_member(role)
    article = article_in(Status.MANUAL_REVIEW, nadia)
    before = everything(article)
    for action in (Transition.APPROVE, Transition.REJECT):
        assert BY_SOURCE[source](nadia, article, action, soon()) in {NotAllowed.code, REFUSED}
    assert everything(article) == before


def test_the_reason_says_why_not() -> None:
    nadia = make_member(Role.REVIEWER)
    with pytest.raises(NotAllowed, match="your own article"):
        publishing.approve(article_in(Status.MANUAL_REVIEW, nadia), by=nadia, revision=1)
    wen = make_member(Role.AUTHOR)
    with pytest.raises(NotAllowed, match="another user"):
        publishing.submit(article_in(Status.DRAFT, nadia), by=wen)


def test_an_author_cannot_write_in_the_name_of_another_user() -> None:
    wen, other = make_member(Role.AUTHOR), make_user("other")
    with pytest.raises(NotAllowed):
        publishing.create(Article(title="Mayor resigns", author=other), by=wen)
    with pytest.raises(NotAllowed):
        publishing.edit(article_in(Status.DRAFT, wen), by=wen, changes={"author": other})


def test_a_publisher_moves_the_time_of_an_article_but_not_its_text() -> None:
    publisher, article = make_member(Role.PUBLISHER), article_in(Status.APPROVED, make_user("other"))
    new = soon(hours=9)
    publishing.edit(article, by=publisher, changes={"publish_at": new})
    with pytest.raises(NotAllowed):
        publishing.edit(article, by=publisher, changes={"publish_at": new + timedelta(hours=1), "title": NEW_TITLE})
    article.refresh_from_db()
    assert (article.publish_at, article.title) == (new, "Mayor resigns")


@pytest.mark.cases(2)
@pytest.mark.parametrize("is_superuser", [False, True])
@pytest.mark.parametrize("rule", [False, True])
def test_no_one_approves_what_they_have_edited_since_the_last_approval(
    settings: LazySettings, rule: bool, is_superuser: bool
) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = rule
    irene, other = make_member(Role.CHIEF), make_user("other")
    User.objects.filter(pk=irene.pk).update(is_superuser=is_superuser)
    irene.refresh_from_db()
    article = article_in(Status.MANUAL_REVIEW, other)
    publishing.edit(article, by=irene, changes={"title": NEW_TITLE})
    publishing.edit(article, by=make_editor(), changes={"title": "Mayor goes"})
    with pytest.raises(NotAllowed, match="Two-person"):
        approve(article, by=irene)
    approve(article)

    bob = make_editor("bob")
    publishing.edit(article, by=bob, changes={"title": "Mayor is gone"})
    publishing.submit(article, by=bob)
    approve(article, by=irene)


@pytest.mark.parametrize("rule", [False, True])
def test_an_administrator_approves_alone_by_an_override_that_is_recorded(settings: LazySettings, rule: bool) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = rule
    root, chief = make_user("root", is_superuser=True), make_member(Role.CHIEF)
    article = article_in(Status.MANUAL_REVIEW, root)
    with pytest.raises(NotAllowed):
        publishing.approve(article, by=root, revision=1)
    with pytest.raises(ReasonMissing):
        publishing.approve(article, by=root, revision=1, override=" ")
    with pytest.raises(NotAllowed, match="Only an administrator"):
        publishing.approve(article, by=chief, revision=1, override="Nobody else is here.")
    publishing.approve(article, by=root, revision=1, override="Nobody else is here.")
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.user_id, entry.details) == (
        Transition.APPROVE,
        root.pk,
        {"override": "Nobody else is here."},
    )
    assert "override by an administrator: Nobody else is here." in entry.differences()


def test_a_reviewer_who_was_removed_reviews_nothing() -> None:
    nadia, article = make_member(Role.REVIEWER), article_in(Status.MANUAL_REVIEW, make_user("other"))
    Group.objects.get(name=Role.REVIEWER).user_set.remove(nadia)
    with pytest.raises(NotAllowed):
        publishing.approve(article, by=User.objects.get(pk=nadia.pk), revision=1)


def test_migrating_makes_a_group_for_each_role() -> None:
    groups = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert groups.keys() == {role.value for role in ROLES}
    assert all(groups.values())


def test_a_day_alone_is_no_time_to_go_live_at() -> None:
    """Its midnight is past for most of that day, and what is past goes live at once."""
    article = make_article(status=Status.APPROVED)
    with pytest.raises(CommandError, match="“2026-11-21” does not name one time"):
        call_command("article", "schedule", str(article.pk), "--by", make_editor().username, "--at", "2026-11-21")
    article.refresh_from_db()
    assert (article.status, article.publish_at) == (Status.APPROVED, None)
