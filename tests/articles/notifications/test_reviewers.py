"""Who is notified of a text that waits for review."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from articles import publishing
from articles.models import Article, Notification
from articles.review import StageChoice, choose_stages
from articles.roles import Role
from tests.articles.factories import approve, make_article, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status
SUBMITTED = Notification.Kind.SUBMITTED


def notified() -> set[str]:
    """The users with an unread notification of a text that waits."""
    return set(Notification.objects.filter(kind=SUBMITTED).unread().values_list("user__username", flat=True))


@pytest.fixture
def author() -> User:
    return make_member(Role.AUTHOR, "wen")


def submitted(author: User) -> Article:
    article = Article(title="Mayor resigns", author=author)
    publishing.create(article, by=author)
    publishing.submit(article, by=author)
    return article


def test_reviewers_who_may_decide_are_notified_until_one_has_decided(author: User, client: Client) -> None:
    nadia = make_member(Role.REVIEWER, "nadia")
    make_member(Role.PUBLISHER, "pia")
    chief = make_member(Role.CHIEF, "irene")
    own = submitted(chief)
    assert notified() == {"nadia"}
    article = submitted(author)
    assert notified() == {"nadia", "irene"}
    client.force_login(nadia)
    notification = Notification.objects.get(user=nadia, article=article)
    page = client.get(f"/admin/articles/notification/{notification.pk}/change/")
    assert page.headers["Location"] == f"/admin/articles/queuedarticle/{article.pk}/change/"
    approve(article, by=nadia)
    publishing.reject(own, by=nadia, reason="No.")
    assert notified() == set()


def test_each_stage_notifies_those_who_may_act_at_it(author: User) -> None:
    heads = Group.objects.create(name="Desk heads")
    heads.permissions.add(Permission.objects.get(codename="review_article"))
    stages = [StageChoice("first"), StageChoice("final", group=heads)]
    choose_stages(stages, by=make_user("root", is_superuser=True))
    nadia, omar = make_member(Role.REVIEWER, "nadia"), make_member(Role.REVIEWER, "omar")
    omar.groups.add(heads)
    nadia.groups.add(heads)
    make_user("henry").groups.add(heads)
    article = submitted(author)
    assert notified() == {"nadia", "omar", "henry"}
    approve(article, by=nadia)
    assert notified() == {"omar", "henry"}
    assert not Notification.objects.filter(kind=Notification.Kind.APPROVED).exists(), "it is not approved yet"
    approve(article, by=omar)
    assert notified() == set()
    assert Notification.objects.get(kind=Notification.Kind.APPROVED).user == author


@pytest.mark.parametrize("is_live", [False, True])
def test_an_edit_that_takes_a_text_back_notifies_the_first_stage_again(author: User, *, is_live: bool) -> None:
    choose_stages([StageChoice("first"), StageChoice("final")], by=make_user("root", is_superuser=True))
    nadia, omar, editor = (make_member(Role.REVIEWER, "nadia"), make_member(Role.REVIEWER, "omar"), make_editor())
    if is_live:
        article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), author=author)
        publishing.edit(article, by=editor, changes={"title": "Mayor resigns again"})
        publishing.submit(article, by=editor)
    else:
        article = submitted(author)
    Notification.objects.update(read_at=soon())
    publishing.edit(article, by=editor, changes={"title": "Mayor stays"})
    assert notified() == set(), "it still waits at the first stage"
    approve(article, by=nadia)
    assert notified() == {"omar"}
    publishing.edit(article, by=editor, changes={"title": "Mayor resigns tomorrow"})
    assert notified() == {"nadia", "omar"}
    approve(article, by=omar)
    assert notified() == {"nadia"}


def test_an_update_that_waits_is_named_by_its_own_headline() -> None:
    make_member(Role.REVIEWER, "nadia")
    article, editor = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1)), make_editor()
    publishing.edit(article, by=editor, changes={"title": "Harbour bridge falls"})
    publishing.submit(article, by=editor)
    assert Notification.objects.get(kind=SUBMITTED).article_title == "Harbour bridge falls"
