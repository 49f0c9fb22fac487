"""Exports: importing one gives the same articles, and its file is complete or absent."""

from __future__ import annotations

import json
import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from articles.exchange.export import Export
from articles.exchange.formats import WRITERS
from articles.models import Article, Channel, Correction, Image, ImageUse, Revision, Tag
from articles.text.sanitize import add_paragraphs, clean_html
from scheduling.database import snapshot
from scheduling.models import TaskInfo
from tests.articles.factories import make_article, make_channel, make_editor, make_user, publish_tasks, soon
from tests.articles.image_files import make_image
from tests.articles.import_files import Result, counts, run_command, run_import
from tests.conftest import Manage
from tests.harness import PATIENCE

Status = Article.Status
OUT = (Status.PUBLISHED, Status.UNPUBLISHED, Status.RETRACTED)
OLD = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


def run_export(path: Path | str, *options: str) -> Result:
    """`manage.py export_articles` in this process and transaction."""
    return run_command("export_articles", path, *options)


def empty_the_newsroom() -> None:
    """Delete all articles, channels, tags and tasks; users stay."""
    for model in (Article, TaskInfo, Channel, Tag):
        model._default_manager.all().delete()


RENUMBERED = "note: %d articles have other numbers here, since their own are taken"


def lines_without_numbers(path: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "number"} for line in lines_of(path)]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def newsroom() -> dict[str, Article]:
    """An article in every status, with everything that an article can have."""
    alice = make_user("alice")
    User.objects.filter(pk=alice.pk).update(first_name="Alice", last_name="Ng", email="alice@gazette.example")
    bob, port = make_user("bob"), make_channel("港口 & “Sea”")
    User.objects.filter(pk=bob.pk).update(last_name="O'Hara & <Son>")
    was_out = {"publish_at": OLD, "published_at": OLD}
    articles = {
        status.name: make_article(f"{status.label}  “A & B” <b>", status=status, **(was_out if status in OUT else {}))
        for status in Status
    }
    full = {"slug": "Ferry_Fares", "summary": "Until\u3000spring & <later>.", "byline": "Our “desk”", "channel": port}
    body = '<p>a ]]&gt; b<br>港 😀</p>\n\n<p><a href="/x/">x</a> <img src="https://x.example/a.png" alt=""></p>'
    articles |= {
        "full": make_article(
            "Full", body=clean_html(body), author=alice, status=Status.PUBLISHED, publish_at=OLD, **full
        ),
        "plain": make_article("Plain", body="No paragraph, A &amp; B", author=bob, unpublish_at=soon(days=9)),
        "waiting": make_article(
            "Waiting", status=Status.APPROVED, publish_at=soon(hours=3), unpublish_at=soon(hours=5)
        ),
        "embargoed": make_article(
            "Embargoed", status=Status.MANUALLY_APPROVED, publish_at=OLD, embargo_until=soon(hours=2), author=alice
        ),
        "known": make_article("Known", external_id="gazette-7", status_reason="No source"),
    }
    articles["full"].tags.set([Tag.objects.create(name=name) for name in ("tram", "Fähre", "港;口")])
    Article.objects.filter(status=Status.PUBLISHED).update(text_changed_at=soon(hours=-1))
    Article.objects.filter(status=Status.APPROVED).update(text_changed_at=None)
    Article.objects.filter(status=Status.RETRACTED).update(retraction_notice="It was not true.")
    return articles


# JSON Lines


@pytest.mark.django_db
def test_an_export_of_an_import_is_identical(tmp_path: Path, newsroom: object) -> None:
    """R0.1"""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    result = run_export(first)
    total = Article.objects.count()
    tasks = sorted(TaskInfo.objects.values_list("task_type", "execute_time"))
    assert (result.code, result.lines) == (0, [f"exported={total}"])

    empty_the_newsroom()
    imported = run_import(first)
    run_export(second)

    assert (imported.code, imported.lines) == (0, [RENUMBERED % total, counts(created=total)])
    assert lines_without_numbers(second) == lines_without_numbers(first)
    assert sorted(TaskInfo.objects.values_list("task_type", "execute_time")) == tasks


@pytest.mark.django_db
def test_a_scheduled_article_waits_for_the_same_instant_again(tmp_path: Path) -> None:
    """R0.1"""
    due = soon(hours=3)
    make_article("Bridge opens", status=Status.APPROVED, publish_at=due)
    run_export(tmp_path / "a.jsonl")

    empty_the_newsroom()
    run_import(tmp_path / "a.jsonl")

    assert publish_tasks(Article.objects.get()) == [due]


@pytest.mark.django_db
def test_live_articles_are_exported_as_published_before_a_worker_records_it(tmp_path: Path) -> None:
    """R0.5"""
    until = soon(seconds=-1)
    make_article("Bridge opens", status=Status.APPROVED, publish_at=OLD, cleared_at=OLD, embargo_until=until)

    run_export(tmp_path / "a.jsonl")

    [line] = lines_of(tmp_path / "a.jsonl")
    assert (line["status"], line["published_at"]) == ("published", until.isoformat())
    empty_the_newsroom()
    assert run_import(tmp_path / "a.jsonl").summary == counts(created=1)
    assert Article.objects.live(soon()).exists()


@pytest.mark.django_db
def test_hidden_articles_do_not_go_live_in_other_systems(tmp_path: Path) -> None:
    make_article("No time", status=Status.PUBLISHED)
    make_article("Ahead", status=Status.PUBLISHED, publish_at=soon(hours=1), published_at=OLD)
    make_article("Killed before its time", status=Status.RETRACTED, publish_at=OLD)

    run_export(tmp_path / "a.jsonl")

    found = [(line["status"], line["published_at"]) for line in lines_of(tmp_path / "a.jsonl")]
    assert found == [("draft", None), ("approved", None), ("retracted", None)]


@pytest.mark.django_db
@pytest.mark.parametrize("suffix", ["jsonl", "xml"])
def test_an_article_that_was_approved_late_or_held_by_an_embargo_keeps_its_date_and_its_place(
    tmp_path: Path, suffix: str
) -> None:
    """In whole seconds, which are all that WXR has."""
    moments = [soon(days=-days).replace(microsecond=0) for days in range(1, 6)]
    held = {"publish_at": OLD, "embargo_until": moments[1], "status": Status.PUBLISHED}
    make_article("Late", status=Status.APPROVED, publish_at=OLD, cleared_at=moments[0])
    make_article("Held", **held)
    make_article("Cleared after its embargo", **held | {"embargo_until": moments[3], "cleared_at": moments[2]})
    make_article("On time", status=Status.PUBLISHED, publish_at=moments[4])
    off = {"published_at": moments[0], "cleared_at": moments[0]}
    make_article("Off", status=Status.UNPUBLISHED, publish_at=OLD, **off)
    before = dates_of_all()
    run_export(tmp_path / f"a.{suffix}")
    empty_the_newsroom()
    run_import(tmp_path / f"a.{suffix}")
    assert dates_of_all() == before


def dates_of_all() -> dict[str, datetime | None]:
    """From when readers see the articles, by title."""
    return {article.title: article.goes_live_at for article in Article.objects.all()}


@pytest.mark.django_db
def test_the_clock_decides_which_status_an_exported_article_has(tmp_path: Path) -> None:
    past, ahead = soon(hours=-1), soon(hours=1)
    cleared = {"cleared_at": OLD}
    expected = {
        "published": [
            make_article("Live by the clock", status=Status.APPROVED, publish_at=past, **cleared),
            make_article("Live", status=Status.PUBLISHED, publish_at=past),
        ],
        "approved": [
            make_article("Waiting", status=Status.APPROVED, publish_at=ahead, **cleared),
            make_article("Embargoed", status=Status.PUBLISHED, publish_at=past, embargo_until=ahead),
            make_article("Without a time", status=Status.APPROVED),
        ],
        "manually_approved": [make_article("By hand", status=Status.MANUALLY_APPROVED, publish_at=ahead, **cleared)],
        "unpublished": [
            make_article("Over by the clock", status=Status.APPROVED, publish_at=OLD, unpublish_at=past, **cleared),
            make_article("Over", status=Status.PUBLISHED, publish_at=OLD, unpublish_at=past),
            make_article("Off", status=Status.UNPUBLISHED, publish_at=OLD, published_at=OLD),
        ],
        "draft": [make_article("Draft"), make_article("Lost its time", status=Status.PUBLISHED)],
        "rejected": [make_article("Rejected", status=Status.REJECTED, publish_at=past)],
        "retracted": [],
    }
    for status, articles in expected.items():
        run_export(tmp_path / f"{status}.jsonl", "--status", status)
        found = [(line["status"], line["title"]) for line in lines_of(tmp_path / f"{status}.jsonl")]
        assert found == [(status, article.title) for article in articles]
    over = {line["published_at"] for line in lines_of(tmp_path / "unpublished.jsonl")}
    assert over == {OLD.isoformat()}


@pytest.mark.django_db
def test_a_line_holds_every_field_with_its_zone(tmp_path: Path) -> None:
    alice = make_user("alice")
    due = soon(hours=3)
    bridge = make_article("Bridge", body="<p>Open.</p>", author=alice, channel=make_channel("Port"), publish_at=due)

    run_export(tmp_path / "a.jsonl")

    [line] = lines_of(tmp_path / "a.jsonl")
    assert (line.pop("number"), line.pop("created_at")) == (bridge.pk, bridge.created_at.isoformat())
    assert line.pop("external_id").startswith("headline:")
    assert line == {
        "title": "Bridge", "slug": "bridge", "summary": "", "body": "<p>Open.</p>", "body_format": "html",
        "status": "draft", "status_reason": "", "retraction_notice": "", "publish_at": due.isoformat(),
        "published_at": None, "embargo_until": None, "unpublish_at": None, "text_changed_at": None,
        "cover_mode": "auto", "cover": [], "author": "alice", "author_name": "",
        "byline": "", "channel": "Port", "channel_slug": "port", "channel_description": "", "channel_position": 0,
        "channel_enabled": True, "tags": [], "tag_slugs": {}, "corrections": [],
        "search_title": "", "social_title": "", "social_summary": "", "former_slugs": [],
    }  # fmt: skip


def readers_site(articles: dict[str, int]) -> list[str]:
    """What readers get, without the numbers of articles, which may differ."""
    pages = ["/", "/channel/yaowen/", "/channel/yaowen/feed/", "/tag/gales/", "/sitemap-0.xml", "/api/v1/channels/"]
    pages += [f"/api/v1/articles/{pk}/" for _title, pk in sorted(articles.items())]
    found = [Client().get(page) for page in pages]
    assert {page.status_code for page in found} == {200}
    texts = [page.text for page in found]
    for title, pk in articles.items():
        texts = [re.sub(rf'(/article/|/articles/|"id":|id=")({pk})\b', rf"\g<1>{title}", text) for text in texts]
    return [re.sub(r'"(?:id|channel|author)":\d+|nonce="[^"]*"', "", text) for text in texts]


@pytest.mark.django_db
def test_channels_tags_and_corrections_have_the_same_addresses_after_a_move(tmp_path: Path) -> None:
    values = {"slug": "yaowen", "description": "The day.", "position": 3}
    news, sport = Channel.objects.create(name="要闻", **values), make_channel("Sport", position=1)
    tag = Tag.objects.create(name="Gale warnings", slug="gales")
    for number, channel in enumerate((news, sport, news)):
        article = make_article(
            f"Story{number}", channel=channel, status=Status.PUBLISHED, publish_at=OLD, published_at=OLD
        )
        article.tags.add(tag)
    Correction.objects.create(
        article=article, revision=article.revisions.get(), note="The number was wrong.", published_at=OLD
    )
    before = readers_site(dict(Article.objects.values_list("title", "pk")))
    run_export(tmp_path / "a.jsonl")
    empty_the_newsroom()

    assert run_import(tmp_path / "a.jsonl").summary == counts(created=3)
    assert readers_site(dict(Article.objects.values_list("title", "pk"))) == before
    assert list(Channel.objects.values_list("slug", "position", "description")) == [
        ("sport", 1, ""),
        ("yaowen", 3, "The day."),
    ]


@pytest.mark.django_db
def test_an_article_that_was_stored_with_a_past_date_is_not_shown_as_updated_after_a_move(tmp_path: Path) -> None:
    article = make_article("Bridge", status=Status.PUBLISHED, publish_at=OLD, published_at=OLD)
    stored = soon(days=-1)
    Article.objects.filter(pk=article.pk).update(created_at=stored, text_changed_at=stored)
    run_export(tmp_path / "a.jsonl")
    empty_the_newsroom()

    run_import(tmp_path / "a.jsonl")

    moved = Article.objects.get()
    assert (moved.created_at, moved.modified_at, moved.updated_after_publication) == (stored, stored, None)


@pytest.mark.django_db
def test_our_own_exported_articles_are_skipped(tmp_path: Path) -> None:
    article = make_article("Teh bridge", status=Status.PUBLISHED, publish_at=OLD)
    run_export(tmp_path / "a.jsonl")
    Article.objects.update(title="The bridge")

    assert run_import(tmp_path / "a.jsonl").summary == counts(skipped=1)
    assert Article.objects.get().title == "The bridge"

    Article.objects.filter(pk=article.pk).update(created_at=OLD)
    assert run_import(tmp_path / "a.jsonl").summary == counts(created=1), "another article has its number here"


@pytest.mark.django_db
def test_unchanged_imported_articles_are_skipped(tmp_path: Path, newsroom: object) -> None:
    for pk in Article.objects.values_list("pk", flat=True):
        Article.objects.filter(pk=pk).update(external_id=f"elsewhere-{pk}")
    run_export(tmp_path / "a.jsonl")
    revisions = Revision.objects.count()

    assert run_import(tmp_path / "a.jsonl").summary == counts(skipped=Article.objects.count())
    assert Revision.objects.count() == revisions


@pytest.mark.django_db
def test_the_name_of_an_unknown_author_becomes_the_byline(tmp_path: Path, newsroom: object) -> None:
    before = {article.title: article.signed for article in Article.objects.all()}
    run_export(tmp_path / "a.jsonl")
    empty_the_newsroom()
    User.objects.filter(username="alice").delete()

    run_import(tmp_path / "a.jsonl")

    assert {article.title: article.signed for article in Article.objects.all()} == before


@pytest.mark.django_db
def test_library_images_are_exported_with_absolute_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5.4"""
    image = make_image(make_editor())
    body = f'<p><img src="{image.in_texts}" alt="Ferry"></p>'
    make_article("Ferry", body=body)
    run_export(tmp_path / "a.jsonl")
    assert f'src="{settings.SITE_URL}/media/{image.pk}/' in lines_of(tmp_path / "a.jsonl")[0]["body"]

    empty_the_newsroom()
    run_import(tmp_path / "a.jsonl")
    assert Article.objects.get().body == body

    empty_the_newsroom()
    monkeypatch.setattr(settings, "SITE_URL", "https://courier.example")
    assert run_import(tmp_path / "a.jsonl").code == 0
    assert 'src="http' in Article.objects.get().body


@pytest.mark.django_db
def test_a_chosen_cover_is_imported_if_its_images_exist(tmp_path: Path) -> None:
    """R5.4"""
    images = [str(make_image(make_editor()).pk)]
    make_article("Ferry", cover_mode="one", cover=images)
    run_export(tmp_path / "a.jsonl")

    empty_the_newsroom()
    run_import(tmp_path / "a.jsonl")
    article = Article.objects.get()
    assert (article.cover_mode, article.cover) == ("one", images)
    assert [use.article_id for use in ImageUse.objects.all()] == [article.pk]

    empty_the_newsroom()
    Image.objects.all().delete()
    assert run_import(tmp_path / "a.jsonl").remarks[:1] == [
        "line 1: note: the images of its cover do not exist here; the cover is chosen from the text"
    ]
    assert (Article.objects.get().cover_mode, Article.objects.get().cover) == ("auto", [])


@pytest.mark.django_db
def test_the_export_is_sanitised_like_an_import(tmp_path: Path) -> None:
    make_article("Hostile\x07", body='<p onclick="x()">Hi\x0c<script>x()</script></p>')

    run_export(tmp_path / "a.jsonl")

    [line] = lines_of(tmp_path / "a.jsonl")
    assert (line["title"], line["body"]) == ("Hostile", "<p>Hi</p>")


# WordPress


@pytest.mark.django_db
def test_a_wordpress_export_has_the_elements_of_wordpress(tmp_path: Path, newsroom: dict[str, Article]) -> None:
    run_export(tmp_path / "a.xml")

    posts = {post["wp:post_id"]: post for post in posts_of(tmp_path / "a.xml")}
    full = posts[str(newsroom["full"].pk)]
    assert full["title"] == "Full"
    assert full["excerpt:encoded"] == "Until\u3000spring &amp; &lt;later&gt;."
    assert full["content:encoded"].startswith("<p>a ]]&gt; b<br>港 😀</p>")
    assert (full["wp:status"], full["wp:post_type"], full["dc:creator"]) == ("publish", "post", "alice")
    assert full["wp:post_date_gmt"] == "2024-03-01 00:00:00", "never early, not even by a fraction of a second"
    assert posts[str(newsroom["waiting"].pk)]["wp:status"] == "future"
    assert posts[str(newsroom["embargoed"].pk)]["wp:status"] == "future"
    statuses = {name: posts[str(article.pk)]["wp:status"] for name, article in newsroom.items() if name.isupper()}
    assert statuses == {
        "DRAFT": "draft", "SUBMITTED": "pending", "REJECTED": "draft", "MANUAL_REVIEW": "pending",
        "MANUALLY_APPROVED": "pending", "APPROVED": "pending", "PUBLISHED": "publish", "UNPUBLISHED": "draft",
        "RETRACTED": "draft",
    }  # fmt: skip


@pytest.mark.django_db
def test_an_import_reads_what_is_written_for_wordpress(tmp_path: Path, newsroom: dict[str, Article]) -> None:
    """R0.1"""
    names = ("full", "waiting", "embargoed", "plain")
    before = [essence(newsroom[name]) for name in names]
    run_export(tmp_path / "a.xml")
    empty_the_newsroom()

    result = run_import(tmp_path / "a.xml")

    assert (result.code, result.remarks) == (0, [])
    found = {article.title: article for article in Article.objects.all()}
    assert [essence(found[newsroom[name].title]) for name in names] == before


@pytest.mark.django_db
def test_invalid_xml_characters_are_removed_and_cdata_is_escaped(tmp_path: Path) -> None:
    make_article("Bell\x07 ]]> \ufffe", body="<p>a]]></p>", summary="tail ]]", byline="]]>")

    run_export(tmp_path / "a.wxr")

    [post] = posts_of(tmp_path / "a.wxr")
    assert (post["title"], post["content:encoded"]) == ("Bell ]]&gt;", "<p>a]]&gt;</p>")


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.PUBLISHED, Status.APPROVED])
def test_unpublished_articles_do_not_go_live_in_other_systems(tmp_path: Path, status: Status) -> None:
    make_article("Over", status=status, publish_at=OLD, unpublish_at=soon(hours=-1))

    run_export(tmp_path / "a.xml")

    assert posts_of(tmp_path / "a.xml")[0]["wp:status"] == "draft"


def posts_of(path: Path) -> list[dict[str, str]]:
    """The posts of a WordPress export, read by another parser than ours."""
    prefixes = {uri: name for _event, (name, uri) in ElementTree.iterparse(path, events=["start-ns"])}
    root = ElementTree.parse(path)
    assert root.findtext("channel/{http://wordpress.org/export/1.2/}wxr_version") == "1.2"
    return [{_short(each.tag, prefixes): each.text or "" for each in item} for item in root.iter("item")]


def _short(tag: str, prefixes: dict[str, str]) -> str:
    uri, _brace, name = tag.removeprefix("{").rpartition("}")
    return f"{prefixes[uri]}:{name}" if uri else name


def essence(article: Article) -> dict[str, Any]:
    """What readers see of an article, and when."""
    article.refresh_from_db()
    kept = {name: getattr(article, name) for name in ("slug", "summary", "byline", "author", "unpublish_at")}
    kept["body"] = clean_html(add_paragraphs(article.body), base=f"{settings.SITE_URL}/")
    kept["second"] = ceil(article.goes_live_at.timestamp()) if article.goes_live_at else None
    kept |= {"tags": sorted(str(tag) for tag in article.tags.all()), "channel": str(article.channel or "")}
    return {**kept, "live": article.is_out_at(soon())}


# The file


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "options", "begin"),
    [("a.ndjson", [], "{"), ("a.WXR", [], "<?xml"), ("a.txt", ["--format", "wxr"], "<?xml")],
)
def test_the_format_is_guessed_from_the_name_or_named(
    tmp_path: Path, name: str, options: list[str], begin: str
) -> None:
    make_article()

    assert run_export(tmp_path / name, *options).code == 0
    assert (tmp_path / name).read_text().startswith(begin)


@pytest.mark.django_db
def test_an_unwritable_file_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    make_article()
    (tmp_path / "folder.xml").mkdir()

    for name, complaint in [
        ("a.docx", "end it in .jsonl or .xml"), ("a.csv", "end it in .jsonl or .xml"), ("folder.xml", "Is a directory"),
        ("missing/a.jsonl", "No such file or directory"),
    ]:  # fmt: skip
        result = run_export(tmp_path / name)
        assert (result.code, result.lines) == (2, [])
        assert complaint in result.error
    assert run_export(tmp_path / "a.xml", "--channel", "Nowhere").error == "There is no channel “Nowhere” here."
    assert [path.name for path in tmp_path.iterdir()] == ["folder.xml"]


@pytest.mark.django_db
def test_a_failure_in_the_middle_leaves_the_old_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        make_article(f"Story {number}")
    (tmp_path / "a.jsonl").write_text("yesterday's")
    monkeypatch.setattr("articles.exchange.export.PAGE", 1)
    asked = iter(range(10))

    def fail(execute, sql, params, many, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if "FROM" in sql and next(asked) > 1:
            raise OSError(28, "No space left on device")
        return execute(sql, params, many, context)

    with connections["default"].execute_wrapper(fail):
        result = run_export(tmp_path / "a.jsonl")

    assert (result.code, "No space left on device" in result.error) == (2, True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.jsonl": "yesterday's"}


@pytest.mark.django_db
def test_only_the_owner_can_read_the_exported_file(tmp_path: Path) -> None:
    run_export(tmp_path / "a.jsonl")

    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.django_db
def test_a_link_keeps_pointing_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "latest.jsonl").symlink_to(tmp_path / "a.jsonl")

    run_export(tmp_path / "latest.jsonl")

    assert (tmp_path / "latest.jsonl").is_symlink()
    assert (tmp_path / "a.jsonl").exists()


@pytest.mark.thorough
def test_a_wrong_time_is_explained_at_the_terminal(manage: Manage, tmp_path: Path) -> None:
    result = manage("export_articles", str(tmp_path / "a.jsonl"), "--since", "tomorrow")

    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert "argument --since: “tomorrow” does not name one time" in result.stderr


def test_it_can_be_piped(manage: Manage) -> None:
    make_article("港口")

    result = manage("export_articles", "-")

    assert json.loads(result.stdout)["title"] == "港口"
    assert result.stderr.strip() == "exported=1"


# Which articles


@pytest.mark.django_db
def test_the_choice_can_be_narrowed(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    make_article("Port", channel=make_channel("Port"), status=Status.PUBLISHED, publish_at=OLD)
    make_article("Sport", channel=make_channel("Sport"))
    old = make_article("Old")
    Article.objects.filter(pk=old.pk).update(updated_at=OLD)

    def titles(*options: str) -> set[str]:
        assert run_export(file, *options).code == 0
        return {line["title"] for line in lines_of(file)}

    assert titles("--channel", "Port", "--channel", "Sport") == {"Port", "Sport"}
    assert titles("--status", "draft") == {"Sport", "Old"}
    assert titles("--status", "draft", "--since", "2025-01-01T00:00Z") == {"Sport"}
    assert titles("--channel", "Port", "--status", "retracted") == set()


@pytest.mark.thorough
@pytest.mark.cases(1)
@pytest.mark.django_db
@pytest.mark.parametrize("name", ["jsonl", "wxr"])
def test_writing_takes_little_memory_and_few_statements_for_any_number(
    name: str, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr("articles.exchange.export.PAGE", 25)
    body = "Ferry news. " * 1000
    Article.objects.bulk_create([Article(title="One", body=body) for _ in range(500)])
    first = Article.objects.filter(pk=Article.objects.earliest("pk").pk)
    assert list(WRITERS[name](Export(first, soon())))  # or what is loaded for the first one would count

    tracemalloc.start()
    with django_assert_max_num_queries(92):
        written = sum(len(piece) for piece in WRITERS[name](Export(Article.objects.all(), soon())))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert written > 500 * len(body)
    assert peak < written / 3


@pytest.mark.django_db(transaction=True)
def test_an_export_is_consistent_and_blocks_no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.exchange.export.PAGE", 1)
    first, second = make_article("First"), make_article("Second")

    def change() -> None:
        Article.objects.filter(pk=second.pk).update(title="Changed")
        make_article("New")
        Article.objects.filter(pk=first.pk).delete()
        connections.close_all()

    with snapshot(), snapshot():
        pieces = WRITERS["jsonl"](Export(Article.objects.all(), soon()))
        seen = [json.loads(next(pieces))["title"]]
        with ThreadPoolExecutor(1) as others:
            others.submit(change).result(timeout=PATIENCE)
        seen += [json.loads(piece)["title"] for piece in pieces]

    assert seen == ["First", "Second"]
    assert set(Article.objects.values_list("title", flat=True)) == {"Changed", "New"}
