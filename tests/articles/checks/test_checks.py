"""What the checks find in an article before it goes live."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import nh3
import pytest

from articles.checks import Draft, lacking, problems
from articles.models import Article, SensitiveWord, Text
from articles.text import format_time_exactly
from tests.articles.factories import make_article, make_channel, make_editor, make_user, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

Status = Article.Status


def whole() -> Draft:
    """A draft in which nothing is found."""
    channel = make_channel()
    text = Text.of(
        Article(title="Bridge reopens", summary="Cars first.", body="<p>It is open.</p>", channel=channel), ()
    )
    return Draft(text, soon(), soon(hours=1))


def found(**changes: Any) -> list[tuple[str, str]]:
    """The fields with problems in the whole draft with these texts, and what is said about them."""
    draft = whole()
    return [(each.field, each.message) for each in problems(replace(draft, text=replace(draft.text, **changes)))]


def test_a_whole_draft_has_no_problem() -> None:
    assert found() == []


def test_what_is_empty_is_named_and_a_live_article_needs_no_time() -> None:
    draft = Draft(Text.of(Article(title="Bare"), ()), soon())
    assert [problem.field for problem in problems(draft)] == ["channel", "publish_at", "summary", "body"]
    assert lacking(draft) == ["channel", "publish at", "summary"]
    assert "publish_at" not in [problem.field for problem in problems(replace(draft, is_out=True))]


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"title": "x" * 71}, "title", "has 71 characters; lists and search engines show about 70"),
        ({"title": "港" * 31}, "title", "about 30"),
        ({"summary": "x" * 161}, "summary", "about 160"),
        ({"body": '<p>One</p><img src="/a.jpg">'}, "body", "1 image in the text has no alt text"),
    ],
)
def test_lengths_and_alt_texts_are_checked(values: dict[str, str], field: str, said: str) -> None:
    ((where, message),) = found(**values)
    assert where == field
    assert said in message


def test_an_image_without_words_is_no_empty_text() -> None:
    assert found(body='<figure><img src="/a.jpg" alt="A ship"></figure>') == []


def test_a_cover_without_alt_text_is_found() -> None:
    image = make_image(make_editor(), "")
    assert found(cover=[str(image.pk)], cover_mode="one") == [("cover", "A cover image has no alt text.")]


def test_a_text_is_cleaned_once_for_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    draft, clean = whole(), Mock(wraps=nh3.clean)
    monkeypatch.setattr("nh3.clean", clean)

    problems(replace(draft, text=replace(draft.text, body="<p>The ships wait for the tide.</p>" * 100)))

    assert clean.call_count == 1


def test_sensitive_words_are_found_with_their_place() -> None:
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    assert found(summary="A casino.") == [("summary", "Blocked word “casino”: summary.")]


def test_links_to_what_readers_cannot_see_are_found() -> None:
    live = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    draft = make_article("Not yet", author=make_user("ada"))
    channel = make_channel("City")
    hidden, missing = draft.get_absolute_url(), "/nowhere/"
    addresses = [
        *(live.get_absolute_url(), hidden, hidden, missing, "/article/999999/gone/", "/channel/none/"),
        *(
            channel.get_absolute_url(),
            "https://example.org/x",
            "#top",
            "mailto:a@example.org",
            "http://[",
            "/media/a.pdf",
        ),
    ]
    body = "".join(f'<p><a href="{address}">x</a></p>' for address in addresses)
    assert sorted(found(body=body)) == [
        ("body", "A link leads to a missing page: /article/999999/gone/."),
        ("body", "A link leads to a missing page: /channel/none/."),
        ("body", f"A link leads to a missing page: {missing}."),
        ("body", "A link leads to “Not yet”, which readers cannot see."),
    ]


def test_a_link_to_a_scheduled_article_names_when_readers_get_it() -> None:
    target = make_article("Not yet", status=Status.APPROVED, publish_at=soon(hours=3))
    body = f'<p><a href="/article/{target.pk}/">x</a></p>'
    assert target.publish_at
    when = format_time_exactly(target.publish_at)
    expected = f"The link to “Not yet” is plain text for readers until that article goes live on {when}."
    draft = replace(whole(), publish_at=soon(hours=2))
    draft = replace(draft, text=replace(draft.text, body=body))
    assert [problem.message for problem in problems(draft)] == [expected]
    assert problems(replace(draft, publish_at=target.publish_at)) == []
    assert [problem.message for problem in problems(replace(draft, publish_at=None, is_out=True))] == [expected]
