"""The review queue and the soft locks of reviewers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from rest_framework.test import APIClient

from articles import publishing
from articles.desk.menu import queue_length
from articles.exceptions import LockedByAnother, NotAllowed, WrongState
from articles.models import Article, SensitiveWord, SoftLock
from articles.publishing.review_locks import release_soft_lock, soft_lock
from articles.review import StageChoice, choose_stages
from tests.articles.factories import approve, make_article, make_editor, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status
QUEUE = "/admin/articles/queuedarticle/"


@pytest.fixture
def alice() -> User:
    return make_editor("alice")


@pytest.fixture
def bob() -> User:
    return make_editor("bob")


@pytest.fixture
def article() -> Article:
    return make_article(status=Status.MANUAL_REVIEW, status_reason="Words to look at: “casino” (headline).")


def test_a_claimed_article_is_left_to_the_reviewer_who_is_on_it(article: Article, alice: User, bob: User) -> None:
    """R5.3"""
    soft_lock(article, by=alice)
    soft_lock(article, by=alice)
    with pytest.raises(LockedByAnother, match="alice"):
        soft_lock(article, by=bob)
    with pytest.raises(LockedByAnother):
        approve(article, by=bob)
    with pytest.raises(LockedByAnother):
        publishing.reject(article, by=bob, reason="No.")
    approve(article, by=alice)
    assert article.status == Status.MANUALLY_APPROVED
    assert not SoftLock.objects.exists()


def test_a_claim_ends_by_hand_or_after_its_time(article: Article, alice: User, bob: User, settings: Any) -> None:
    soft_lock(article, by=alice)
    release_soft_lock(article, by=bob)
    soft_lock(article, by=bob)
    settings.REVIEW_SOFT_LOCK = timedelta(0)
    soft_lock(article, by=alice)
    settings.REVIEW_SOFT_LOCK = timedelta(minutes=5)
    with pytest.raises(LockedByAnother):
        soft_lock(article, by=bob)


def test_the_claim_of_a_removed_reviewer_ends(article: Article, alice: User, bob: User) -> None:
    soft_lock(article, by=alice)
    alice.delete()
    approve(article, by=bob)
    assert article.status == Status.MANUALLY_APPROVED


def test_only_reviewers_claim_and_only_what_waits_for_them(article: Article, alice: User) -> None:
    with pytest.raises(NotAllowed):
        soft_lock(article, by=make_user("carol", "change_article"))
    with pytest.raises(WrongState):
        soft_lock(make_article(), by=alice)


def test_the_queue_shows_what_waits_and_why_and_who_is_on_it(
    article: Article, alice: User, bob: User, client: Client
) -> None:
    """R5.3"""
    make_article("Not for review")
    client.force_login(alice)
    page = client.get(QUEUE).content.decode()
    assert article.title in page
    assert "casino" in page
    assert "Not for review" not in page
    chosen = {"action": "claim", "_selected_action": [article.pk]}
    response = client.post(QUEUE, chosen)
    assert response.headers["Location"] == f"{QUEUE}{article.pk}/change/"
    assert SoftLock.objects.get().user == alice

    client.force_login(bob)
    assert "alice is reviewing this article." in client.post(QUEUE, chosen, follow=True).content.decode()
    client.post(QUEUE, {**chosen, "action": "unclaim"})
    assert not SoftLock.objects.exists()


def test_the_article_shows_the_words_where_they_stand(alice: User, client: Client) -> None:
    """R5.1"""
    SensitiveWord.objects.create(text="法轮功", level=SensitiveWord.Level.REVIEW)
    article = make_article(body="<p>早晨。</p><p>他们在公园里练习法 輪 功。</p>")
    publishing.submit(article, by=make_user("carol", "change_article", "edit_any_article"))
    client.force_login(alice)
    soft_lock(article, by=alice)
    page = client.get(f"/admin/articles/article/{article.pk}/change/").content.decode()
    assert "<strong>法轮功</strong> · text, paragraph 2: <q>早晨。 他们在公园里练习法 輪 功。</q>" in page
    assert "alice is reviewing this article." in page


def test_a_program_claims_and_releases(article: Article, alice: User, bob: User) -> None:
    address = f"/api/v1/desk/articles/{article.pk}/"
    of_alice, of_bob = APIClient(), APIClient()
    of_alice.force_authenticate(alice)
    of_bob.force_authenticate(bob)
    assert of_alice.post(f"{address}claim/").json()["reviewer"] == "alice"
    assert of_bob.get(address).json()["reviewer"] == "alice"
    for transition, read in (("claim", {}), ("approve", {"revision": 1})):
        response = of_bob.post(f"{address}{transition}/", read)
        assert (response.status_code, response.json()["code"]) == (409, "soft_locked")
    assert of_bob.post(f"{address}unclaim/").json()["reviewer"] is None
    assert of_bob.post(f"{address}claim/").json()["reviewer"] == "bob"
    response = of_bob.post(f"{address}approve/", {"revision": 1})
    assert (response.json()["status"], response.json()["reviewer"]) == (Status.MANUALLY_APPROVED, None)
    response = of_bob.post(f"{address}claim/")
    assert (response.status_code, response.json()["code"]) == (409, "wrong_state")


def test_a_claim_that_is_over_is_not_shown(article: Article, alice: User, settings: Any) -> None:
    program = APIClient()
    program.force_authenticate(alice)
    soft_lock(article, by=alice)
    settings.REVIEW_SOFT_LOCK = timedelta(0)
    assert program.get(f"/api/v1/desk/articles/{article.pk}/").json()["reviewer"] is None


def test_the_queue_is_for_reviewers(article: Article, client: Client) -> None:
    client.force_login(make_user("carol", "view_article", "change_article"))
    assert client.get(QUEUE).status_code == 403


def listed(client: Client, query: str = "") -> list[int]:
    return [row.pk for row in client.get(f"{QUEUE}{query}").context["cl"].queryset]


def test_the_queue_shows_the_stage_of_the_user_first_with_the_number_at_each(
    alice: User, bob: User, client: Client
) -> None:
    heads = Group.objects.create(name="Desk heads")
    heads.permissions.add(Permission.objects.get(codename="review_article"))
    bob.groups.add(heads)
    one, two, three = (make_article(f"{n}", status=Status.MANUAL_REVIEW) for n in range(3))
    client.force_login(alice)
    assert 'class="desk-tabs"' not in client.get(QUEUE).text, "one stage needs no tabs"
    stages = [StageChoice("first"), StageChoice("final", group=heads)]
    choose_stages(stages, by=make_user("root", is_superuser=True))
    approve(one, by=alice)
    approve(two, by=bob)
    assert listed(client) == [three.pk]
    client.force_login(bob)
    page = client.get(QUEUE)
    assert {tab.key: tab.count for tab in page.context["cl"].stage_tabs} == {
        "mine": 2,
        "all": 3,
        "first": 1,
        "final": 2,
    }
    assert "Final review" in page.text
    assert listed(client) == [one.pk, three.pk]
    assert listed(client, "?stage=final") == [one.pk, two.pk]
    assert listed(client, "?stage=all") == [one.pk, two.pk, three.pk]
    assert listed(client, "?stage=whatever") == [one.pk, two.pk, three.pk]
    assert queue_length(page.wsgi_request) == 2
    publishing.edit(one, by=alice, changes={"title": "Changed"})
    assert listed(client, "?stage=first") == [three.pk, one.pk]


def test_the_desk_of_a_reviewer_without_a_stage_shows_that_nothing_waits_for_them(
    article: Article, alice: User, client: Client
) -> None:
    heads = Group.objects.create(name="Desk heads")
    heads.permissions.add(Permission.objects.get(codename="review_article"))
    root = make_user("root", is_superuser=True)
    choose_stages([StageChoice("first", group=heads)], by=root)
    for user in (alice, root):
        client.force_login(user)
        assert queue_length(client.get(QUEUE).wsgi_request) == 0
        assert listed(client, "?stage=all") == [article.pk]
        for address in ("/admin/", "/admin/articles/article/", "/admin/calendar/"):
            assert client.get(address).status_code == 200


def test_the_queue_shows_the_stage_of_the_text_of_an_update(alice: User, bob: User, client: Client) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=alice, changes={"title": "Changed"})
    publishing.submit(article, by=alice)
    choose_stages([StageChoice("first"), StageChoice("second")], by=make_user("root", is_superuser=True))
    approve(article, by=bob)
    client.force_login(bob)
    assert listed(client, "?stage=second") == [article.pk]
    assert listed(client) == []
    page = client.get(QUEUE).text
    assert "Nothing waits for your decision" in page
    assert "1 article waits for other reviewers. It is under “All”." in page
    assert client.get("/admin/").status_code == 200
