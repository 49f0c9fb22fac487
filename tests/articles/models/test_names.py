"""Names that identify are told apart by the database, and found in any case where people type them."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, User
from django.db import models

from articles.models import ArticleTemplate, Channel, SavedView, Tag
from articles.publishing import users_named
from tests.articles.factories import make_user

pytestmark = pytest.mark.django_db

NAMES = ["🔥", "💧", "陈𬱖", "陈𬭎", "péché", "peche", "PECHE", "pêche", "ＡＢ", "AB", "𠮷", "𠀀", "e\u0301", "é"]
KINDS: list[tuple[type[models.Model], str]] = [
    (User, "username"),
    (Group, "name"),
    (Tag, "name"),
    (Channel, "name"),
    (ArticleTemplate, "name"),
    (SavedView, "name"),
]


@pytest.mark.parametrize(("model", "column"), KINDS)
def test_names_that_differ_are_different_rows(model: type[models.Model], column: str) -> None:
    around = {"owner": make_user("owner")} if model is SavedView else {}
    slugs = [{"slug": f"s{number}"} if model in (Tag, Channel) else {} for number in range(len(NAMES))]

    model._default_manager.bulk_create(
        model(**{column: name}, **around, **slug) for name, slug in zip(NAMES, slugs, strict=True)
    )

    found = [list(model._default_manager.filter(**{column: name}).values_list(column, flat=True)) for name in NAMES]
    assert found == [[name] for name in NAMES]


@pytest.mark.parametrize(("model", "column"), KINDS[:4])
@pytest.mark.parametrize(("stored", "typed"), [("Harbour", "hARB"), ("🔥 Fire", "🔥"), ("陈𬱖", "𬱖")])
def test_a_search_finds_names_in_any_case(model: type[models.Model], column: str, stored: str, typed: str) -> None:
    for number, name in enumerate((stored, "💧 Water", "陈𬭎")):
        slug = {"slug": f"s{number}"} if model in (Tag, Channel) else {}
        model._default_manager.create(**{column: name}, **slug)
    rows = model._default_manager.filter(**{f"{column}__icontains": typed})

    assert list(rows.values_list(column, flat=True)) == [stored]
    assert model._default_manager.filter(**{f"{column}__iexact": stored.upper()}).count() == 1


def test_articles_of_a_file_find_their_authors_in_any_case() -> None:
    for name in ("mei", "陈𬱖", "Li", "li"):
        make_user(name)

    found = users_named(["MEI", "mei", "陈𬭎", "陈𬱖", "Li", "li", "LI"])

    assert {name: user.get_username() for name, user in found.items()} == {
        "MEI": "mei", "mei": "mei", "陈𬱖": "陈𬱖", "Li": "Li", "li": "li",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "found"), [("MEI", "mei"), ("mei", "mei"), ("陈𬭎", None), ("méi", None), ("Li", "Li")]
)
def test_people_log_in_with_any_case_of_their_name(typed: str, found: str | None) -> None:
    for name in ("mei", "陈𬱖", "Li", "li"):
        make_user(name)

    user = authenticate(username=typed, password="secret")

    assert (user and user.get_username()) == found
