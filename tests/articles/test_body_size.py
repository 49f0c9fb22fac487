"""A body of which reading, sanitising and showing would cost too much is refused wherever it can be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import nh3
import pytest
from django.test import Client

from articles import publishing
from articles.exceptions import TooLong
from articles.limits import BODY_LENGTH, MOST_BODY_ELEMENTS
from articles.models import Article, ArticleTemplate, Autosave
from articles.text import is_kept_if_refused, oversize
from tests.articles.factories import make_article, make_editor, make_user, soon
from tests.articles.import_files import counts, run_import, write_lines
from tests.articles.open_forms import sent_by

pytestmark = pytest.mark.django_db

TOO_MANY, FITS = "<p>" * (MOST_BODY_ELEMENTS + 1), "<p>The ships wait.</p>" * MOST_BODY_ELEMENTS
SAID = "more than 30000 paragraphs, cells, formats and line ends; shorten or split it."
ARTICLES = "/admin/articles/article/"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(make_user("boss", is_superuser=True))
    return client


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that are cleaned from now on."""
    clean, lengths = nh3.clean, []

    def noted(html: str, **options: Any) -> str:
        lengths.append(len(html))
        return clean(html, **options)

    monkeypatch.setattr("nh3.clean", noted)
    return lengths


def changed(client: Client, article: Article, **values: Any) -> Any:
    address = f"/api/v1/desk/articles/{article.pk}/"
    return client.patch(address, json.dumps(values), content_type="application/json")


@pytest.mark.parametrize("unit", ["<p>", "a\n", "a\n\n", "\r", "<br>\r\n", "<", "<!-->", "<b>a</b>", "</p>"])
def test_elements_and_line_ends_are_counted_before_anything_is_read(unit: str) -> None:
    """Also in plain text, in which each empty line begins a paragraph."""
    assert SAID in oversize(unit * (MOST_BODY_ELEMENTS + 1))
    assert oversize(unit * (MOST_BODY_ELEMENTS // 2)) == ""


def test_a_table_of_twenty_thousand_cells_and_a_long_read_of_a_million_characters_fit() -> None:
    row = f"<tr>{'<td>123.4</td>' * 20}</tr>\n"
    paragraph = f"<p>{'The ships wait for the tide. ' * 12}<em>They do.</em> <a href='/article/1/'>See.</a></p>\n\n"
    assert oversize(f"<table><tbody>{row * 1_000}</tbody></table>") == ""
    assert oversize(paragraph * (BODY_LENGTH // len(paragraph))) == ""


@pytest.mark.parametrize("char", ["&", ">", "\u00a0"])
def test_a_character_is_as_long_as_it_is_in_html(char: str) -> None:
    assert "longer than 1000000 characters of HTML" in oversize(f"a{char * (BODY_LENGTH // 2)}a")
    assert oversize(f"a{char * (BODY_LENGTH // 7)}a") == ""
    assert oversize("&amp;" * (BODY_LENGTH // 5)) == ""


def test_services_refuse_it() -> None:
    alice = make_editor()
    with pytest.raises(TooLong, match="formats and line ends"):
        publishing.edit(make_article(), by=alice, changes={"body": TOO_MANY})
    with pytest.raises(TooLong, match="formats and line ends"):
        publishing.create(Article(title="Long", body=TOO_MANY), by=alice)
    publishing.create(Article(title="Long", body=FITS), by=alice)
    assert Article.objects.get(title="Long").body == FITS


def test_the_api_refuses_it_at_its_field(client: Client) -> None:
    response = changed(client, make_article(), body=TOO_MANY)
    assert response.status_code == 400
    assert SAID in response.json()["body"][0]
    body = {"name": "Match", "body": TOO_MANY}
    response = client.post("/api/v1/desk/templates/", json.dumps(body), content_type="application/json")
    assert response.status_code == 400
    assert SAID in response.text


def test_the_forms_refuse_it_and_show_it_again(client: Client) -> None:
    typed = {"title": "Long", "slug": "long", "body": f"{TOO_MANY}Ahoy", "_save": "1"}
    page = client.post(f"{ARTICLES}add/", typed)
    assert SAID in page.text
    assert "&lt;p&gt;Ahoy" in page.text
    page = client.post("/admin/articles/articletemplate/add/", {**typed, "name": "Match"})
    assert SAID in page.text
    for unit in ("<p></p>", "<script></script>"):
        page = client.post(f"{ARTICLES}add/", {**typed, "body": unit * (MOST_BODY_ELEMENTS + 1)})
        assert SAID in page.text
    assert not Article.objects.exists()
    assert not ArticleTemplate.objects.exists()


def test_a_form_shows_the_words_of_a_body_that_would_take_long_to_clean(client: Client) -> None:
    body = f"<b>Ahoy</b> you{TOO_MANY * 3}"
    assert not is_kept_if_refused(body)
    page = client.post(f"{ARTICLES}add/", {"title": "Long", "slug": "long", "body": body, "_save": "1"})
    assert SAID in page.text
    assert "Ahoy  you" in page.text
    assert len(page.content) < len(body)


def test_a_large_form_is_cleaned_as_little_as_a_small_one(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The megabytes of which the form reports that they are too many are not read."""
    cleaned, body = counted(monkeypatch), TOO_MANY * 10
    client.post(f"{ARTICLES}add/", {"title": "Long", "slug": "long", "body": body, "_save": "1"})
    assert sum(cleaned) < len(body) * 2


def test_a_form_that_is_opened_again_cleans_nothing_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    article = make_article(body=f"<p>{'The ships wait for the tide. ' * 10_000}</p>")
    client.get(f"{ARTICLES}{article.pk}/change/")
    cleaned = counted(monkeypatch)
    client.get(f"{ARTICLES}{article.pk}/change/")
    assert max(cleaned, default=0) < len(article.body)


@pytest.mark.parametrize(("body", "status"), [(FITS, 200), (TOO_MANY, 200), (TOO_MANY * 3, 400)])
def test_one_that_is_refused_is_autosaved_unless_it_would_take_long_to_show(
    client: Client, body: str, status: int
) -> None:
    user = int(client.session["_auth_user_id"])
    sent = {"article": None, "user": user, "number": 1, "typed": {"body": [body]}}
    response = client.post(f"{ARTICLES}autosave/{uuid4()}/", json.dumps(sent), content_type="application/json")
    assert response.status_code == status
    assert Autosave.objects.exists() == (status == 200)


def test_an_import_refuses_its_record_alone(tmp_path: Path) -> None:
    long, short = {"title": "Long", "body": TOO_MANY}, {"title": "Short", "body": "<p>a</p>"}
    result = run_import(write_lines(tmp_path / "articles.jsonl", long, short))
    assert result.summary == counts(created=1, failed=1)
    assert any(SAID in line for line in [*result.lines, result.error])


@pytest.mark.cases(1)
@pytest.mark.parametrize("values", [{"title": "New"}, {"body": FITS}])
def test_one_from_before_the_limit_opens_and_is_saved_when_it_is_shortened(
    client: Client, values: dict[str, str]
) -> None:
    then = soon(hours=-1)
    article = make_article(body=TOO_MANY, status=Article.Status.PUBLISHED, publish_at=then, published_at=then)
    assert client.get(f"{ARTICLES}{article.pk}/change/").status_code == 200
    assert Client().get(article.get_absolute_url()).status_code == 200
    assert changed(client, article, **values).status_code == 200


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("status", "buttons"),
    [
        (Article.Status.DRAFT, ["_save", "_step_submit"]),
        (Article.Status.MANUAL_REVIEW, ["_save", "_step_approve"]),
        (Article.Status.PUBLISHED, ["_save", "_step_unpublish"]),
    ],
)
def test_the_form_of_one_from_before_the_limit_does_what_changes_no_text(
    client: Client, status: Article.Status, buttons: list[str]
) -> None:
    then = soon(hours=-1) if status == Article.Status.PUBLISHED else None
    for number, button in enumerate(buttons):
        article = make_article(
            f"No. {number}",
            body="<p>a</p>" * (MOST_BODY_ELEMENTS + 1),
            status=status,
            publish_at=then,
            published_at=then,
        )
        page = client.get(f"{ARTICLES}{article.pk}/change/").text
        sent = sent_by(page, "article_form")
        typed = {"summary": "New"} if button == "_save" else {}
        assert button == "_save" or f'name="{button}"' in page
        response = client.post(f"{ARTICLES}{article.pk}/change/", {**sent, **typed, button: "1"})
        assert SAID not in response.text
        assert response.status_code == 302 or button == "_step_unpublish"  # which asks
    sent = sent_by(client.get(f"{ARTICLES}{article.pk}/change/").text, "article_form")
    refused = client.post(f"{ARTICLES}{article.pk}/change/", {**sent, "body": f"<p>New</p>{sent['body'][0]}"})
    assert SAID in refused.text
