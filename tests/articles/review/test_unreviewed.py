"""Texts that readers see without a review: sensitive words in them are refused wherever they are written."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles.models import Article, Channel, SensitiveWord, Tag
from articles.roles import Role
from tests.articles.factories import make_article, make_channel, make_editor, make_member, soon
from tests.articles.image_files import make_image, shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def chief() -> User:
    SensitiveWord.objects.create(text="forbiddenword", level=SensitiveWord.Level.BLOCK)
    SensitiveWord.objects.create(text="delicateword", level=SensitiveWord.Level.REVIEW)
    return make_member(Role.CHIEF)


@pytest.fixture
def desk(chief: User) -> Client:
    client = Client()
    client.force_login(chief)
    return client


def test_a_retraction_notice_with_a_blocked_word_is_refused(desk: Client, settings: Any) -> None:
    article = make_article("Bridge", status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))

    def retract(notice: str) -> Any:
        return desk.post(f"/api/v1/desk/articles/{article.pk}/retract/", {"notice": notice}, "application/json")

    refused = retract("a forbiddenword")
    assert (refused.status_code, "forbiddenword" in refused.text) == (400, True)
    settings.ARTICLES_TWO_PERSON_RULE = True
    assert retract("a delicateword").status_code == 400
    assert Client().get(article.get_absolute_url()).status_code == 200
    settings.ARTICLES_TWO_PERSON_RULE = False
    assert retract("a delicateword").status_code == 200


@pytest.mark.parametrize("model", [Channel, Tag])
def test_names_and_descriptions_with_a_blocked_word_are_refused(desk: Client, model: Any) -> None:
    add = f"/admin/articles/{model._meta.model_name}/add/"
    form = {"name": "City", "slug": "city", "position": "0", "description": ""}
    fields = ("name", "description") if model is Channel else ("name",)
    for name in fields:
        assert "forbiddenword" in desk.post(add, {**form, name: "a forbiddenword"}).text
    assert desk.post(add, form).status_code == 302
    change = f"/admin/articles/{model._meta.model_name}/{model.objects.get().pk}/change/"
    for name in fields:
        assert desk.post(change, {**form, name: "a forbiddenword"}).status_code == 200
    assert model.objects.get().name == "City"


def test_a_name_that_readers_see_has_no_blocked_word(chief: User, admin_client: Client) -> None:
    form = {"username": "chief", "name": "A forbiddenword", "email": "", "is_active": "on", "is_staff": "on"}
    assert "forbiddenword" in admin_client.post(f"/admin/auth/user/{chief.pk}/change/", form).text
    assert User.objects.get(pk=chief.pk).get_full_name() == ""


def test_the_focal_point_of_a_published_image_is_for_users_who_may_approve() -> None:
    author = make_member(Role.AUTHOR)
    image = make_image(author)
    make_article(body=shown(image), channel=make_channel(), status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    statuses = []
    for user in (author, make_editor()):
        client = Client()
        client.force_login(user)
        moved = {"focus_x": 0, "focus_y": 0}
        statuses.append(client.patch(f"/api/v1/desk/images/{image.pk}/", moved, "application/json").status_code)
    assert statuses == [403, 200]
