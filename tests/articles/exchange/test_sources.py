"""What other systems wrote is kept: kinds and states of their entries, ids, long texts, and files with small faults."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from articles.models import Article
from tests.articles.import_files import WXR, Result, counts, post, run_import, term, write_lines, write_wxr

pytestmark = pytest.mark.django_db
Status = Article.Status
DATED = "<pubDate>Thu, 02 Jan 2020 10:00:00 GMT</pubDate>"
APP = ("http://www.w3.org/2007/app", "http://purl.org/atom/app#")


def import_xml(folder: Path, content: str | bytes, *options: str) -> Result:
    (folder / "feed.xml").write_bytes(content.encode() if isinstance(content, str) else content)
    return run_import(folder / "feed.xml", *options)


def rss(items: str, head: str = "<link>https://first.example/</link>") -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'


def atom(*entries: str, names: str = "") -> str:
    dated = "<published>2020-01-01T00:00:00Z</published><updated>2020-01-01T00:00:00Z</updated>"
    numbered = (
        f"<entry><id>tag:x.example,2020:{n}</id><title>Entry {n}</title>{dated}<content>Text.</content>{each}</entry>"
        for n, each in enumerate(entries)
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {names}>{"".join(numbered)}</feed>'


def titles() -> set[str]:
    return set(Article.objects.values_list("title", flat=True))


# State and kind


@pytest.mark.parametrize("namespace", APP)
def test_drafts_of_atom_stay_drafts(tmp_path: Path, namespace: str) -> None:
    drafts = (f"<a:control><a:draft>{word}</a:draft></a:control>" for word in ("yes", " YES ", "no"))

    import_xml(tmp_path, atom(*drafts, "", names=f'xmlns:a="{namespace}"'))

    statuses = Article.objects.order_by("title").values_list("status", flat=True)
    assert list(statuses) == [Status.DRAFT, Status.DRAFT, Status.PUBLISHED, Status.PUBLISHED]


def test_only_posts_of_a_blogger_export_are_imported(tmp_path: Path) -> None:
    kind = '<category scheme="http://schemas.google.com/g/2005#kind" term="http://schemas.google.com/blogger/2008/kind#%s"/>'
    label = '<category scheme="http://www.blogger.com/atom/ns#" term="Bridges"/>'
    kinds = ("comment", "settings", "template", "page", "post")

    result = import_xml(tmp_path, atom(*(kind % name + label for name in kinds)))

    assert result.lines == [*(f"note: 1 {name} left out" for name in kinds[:4]), counts(created=1, skipped=4)]
    article = Article.objects.get()
    assert (article.channel and article.channel.name, article.tags.count()) == ("Bridges", 0)


def test_types_and_statuses_of_newer_blogger_exports_count(tmp_path: Path) -> None:
    states = ["<b:type>COMMENT</b:type>", "<b:type>POST</b:type><b:status>DRAFT</b:status>"]
    states += [
        "<b:type>POST</b:type><b:status>SOFT_TRASHED</b:status>",
        "<b:type>POST</b:type><b:status>LIVE</b:status>",
    ]

    import_xml(tmp_path, atom(*states, names='xmlns:b="http://schemas.google.com/blogger/2018"'))

    found = Article.objects.order_by("title").values_list("title", "status")
    assert list(found) == [("Entry 1", Status.DRAFT), ("Entry 3", Status.PUBLISHED)]


def test_replies_in_a_feed_are_comments(tmp_path: Path) -> None:
    names = 'xmlns:thr="http://purl.org/syndication/thread/1.0"'

    assert import_xml(tmp_path, atom('<thr:in-reply-to ref="x"/>', names=names)).summary == counts(skipped=1)


# Identity


def test_two_feeds_may_count_alike(tmp_path: Path) -> None:
    item = f"<item><title>%s</title><guid isPermaLink='false'>1701</guid>{DATED}<description>Text.</description></item>"
    first = rss(item % "Fog", "<link>https://first.example/</link>")
    second = rss(item % "Market", "<link>http://www.second.example</link>")

    assert import_xml(tmp_path, first).summary == counts(created=1)
    assert import_xml(tmp_path, second).summary == counts(created=1)
    assert [import_xml(tmp_path, each).summary for each in (first, second)] == [counts(skipped=1)] * 2
    assert titles() == {"Fog", "Market"}


def test_feeds_that_name_no_site_share_no_article(tmp_path: Path) -> None:
    item = f"<item><title>%s</title><guid isPermaLink='false'>1701</guid>{DATED}<description>Text.</description></item>"
    first, second = (rss(item % name, f"<title>All about {name}</title>") for name in ("Fog", "Market"))

    assert import_xml(tmp_path, first).summary == counts(created=1)
    Article.objects.update(external_id="1701")  # as former versions stored it
    assert import_xml(tmp_path, second).summary == counts(created=1)
    assert [import_xml(tmp_path, each).summary for each in (first, second)] == [counts(skipped=1)] * 2
    third = rss(item % "Tide", "")
    assert import_xml(tmp_path, third, "--site", "https://third.example").summary == counts(created=1)
    assert titles() == {"Fog", "Market", "Tide"}


def test_a_repeat_finds_what_a_former_version_imported_under_the_bare_guid(tmp_path: Path) -> None:
    item = f"<item><title>Fog</title><guid>1701</guid>{DATED}<description>%s</description></item>"
    import_xml(tmp_path, rss(item % "Text."))
    Article.objects.update(external_id="1701")

    assert import_xml(tmp_path, rss(item % "Text.")).summary == counts(skipped=1)
    assert import_xml(tmp_path, rss(item % "More.")).summary == counts(updated=1)
    other = rss((item % "Other.").replace("Fog", "Market"), "<link>https://second.example</link>")
    assert import_xml(tmp_path, other).summary == counts(created=1)


def test_posts_with_a_copied_guid_are_two_articles(tmp_path: Path) -> None:
    copy = post(2, title="Copy").replace("?p=2", "?p=1")
    file = write_wxr(tmp_path / "a.xml", copy, post(1, title="Original"))

    assert run_import(file).summary == counts(created=2)
    assert run_import(file).summary == counts(skipped=2)
    assert Article.objects.get(title="Original").external_id == "https://gazette.example/?p=1"


@pytest.mark.parametrize(
    "guid", ["http://localhost/wordpress/?p=1", "http://127.0.0.1:8080/?p=1", "http://site.local/?p=1", "1701"]
)
def test_sites_that_were_built_on_the_same_local_host_share_no_article(tmp_path: Path, guid: str) -> None:
    ours = post(1, title="Fog").replace("https://gazette.example/?p=1", guid)
    first = write_wxr(tmp_path / "a.xml", ours)
    second = tmp_path / "b.xml"
    second.write_text(first.read_text().replace("gazette.example", "herald.example").replace("Fog", "Market"))

    assert run_import(first).summary == counts(created=1)
    Article.objects.update(external_id=guid)  # as former versions stored it
    assert [run_import(file).summary for file in (second, first)] == [counts(created=1), counts(skipped=1)]
    assert titles() == {"Fog", "Market"}


@pytest.mark.parametrize("guid", ["1701", "https://first.example/?p=1"])
def test_entries_with_a_copied_guid_are_two_articles_in_any_order(tmp_path: Path, guid: str) -> None:
    item = f"<item><title>%s</title><guid>{guid}</guid>{DATED}<description>Text.</description></item>"
    fog, market, tide = (item % title for title in ("Fog", "Market", "Tide"))
    import_xml(tmp_path, rss(fog))
    Article.objects.update(external_id=guid)  # as former versions stored it

    assert import_xml(tmp_path, rss(market + fog)).summary == counts(created=1, skipped=1)
    assert import_xml(tmp_path, rss(fog + market)).summary == counts(skipped=2)
    assert import_xml(tmp_path, rss(tide + market + fog)).summary == counts(created=1, skipped=2)
    assert titles() == {"Fog", "Market", "Tide"}


@pytest.mark.parametrize("length", [191, 192, 500, 5000])
def test_ids_may_have_any_length(tmp_path: Path, length: int) -> None:
    long = "x" * (length - 1)
    file = write_lines(tmp_path / "a.jsonl", *({"external_id": f"{long}{end}", "title": end} for end in "ab"))

    assert run_import(file).summary == counts(created=2)
    assert run_import(file).summary == counts(skipped=2)


def test_names_are_the_same_only_up_to_case(tmp_path: Path) -> None:
    names = ["🔥", "💧", "陈𬱖", "陈𬭎", "péché", "peche", "PECHE", "Straße", "𠮷", "𠀀"]
    records = [{"external_id": str(n), "title": "A", "tags": [name], "channel": name} for n, name in enumerate(names)]

    run_import(write_lines(tmp_path / "a.jsonl", *records))

    articles = list(Article.objects.order_by("pk").select_related("channel"))
    found = [(str(article.channel), article.tags.get().name) for article in articles]
    assert found == [(name, name) for name in [*names[:6], "peche", *names[7:]]]


# Limits


def test_long_texts_are_cut_at_a_word_with_a_note(tmp_path: Path) -> None:
    words = "harbour " * 40
    tags = term("category", "c" * 90) + term("post_tag", words, "t")
    long = post(1, title=words, summary=words * 3, slug="x" * 250, terms=tags)

    result = run_import(write_wxr(tmp_path / "a.xml", long))

    assert (result.code, result.summary) == (0, counts(created=1))
    article = Article.objects.select_related("channel").get()
    names = [article.channel and article.channel.name, article.tags.get().name]
    assert [article.title, article.summary, *names] == [
        "harbour " * 24 + "harbour…",
        "harbour " * 61 + "harbour…",
        "c" * 79 + "…",
        "harbour " * 9 + "harbour…",
    ]
    assert [name for name in ("title", "summary", "channel", "tags") if f"{name}: has " not in result.remarks[0]] == []


@pytest.mark.parametrize("title", ["", " ", "\u200b", "\u2060\u3164", "\u00ad", "\ufeff \u200d"])
def test_the_first_words_replace_a_headline_that_shows_nothing(tmp_path: Path, title: str) -> None:
    result = run_import(write_lines(tmp_path / "a.jsonl", {"title": title, "body": "<p>Low water <b>tonight</b></p>"}))

    assert result.remarks == ["line 1: note: has no title; its first words become the headline"]
    assert titles() == {"Low water tonight"}


@pytest.mark.parametrize("form", ["wxr", "jsonl", "rss"])
def test_the_report_names_elements_that_are_removed_and_why(tmp_path: Path, form: str) -> None:
    body = "<p>A</p><form>B</form><script>c()</script><x-map>D</x-map>"
    if form == "jsonl":
        result = run_import(write_lines(tmp_path / "a.jsonl", {"title": "A", "body": body}))
    elif form == "wxr":
        result = run_import(write_wxr(tmp_path / "a.xml", post(1, body=body)))
    else:
        result = import_xml(
            tmp_path, rss(f"<item><guid>1</guid>{DATED}<description>{escape(body)}</description></item>")
        )

    report = "\n".join(result.remarks)
    assert "<form> is removed from the text: forms have no effect here" in report
    assert "<script> is removed from the text: programs do not run here" in report
    assert "<x-map> is removed from the text: it is not known; its text stays" in report


# Files


def test_control_characters_do_not_refuse_an_export(tmp_path: Path) -> None:
    text = WXR % post(1, title="Fog\x0b over\x00 &#x1f; town&#8;").replace(
        "<![CDATA[Fog", "<![CDATA[]]>Fog", 1
    ).replace("town&#8;]]>", "town&#8;", 1)

    result = import_xml(tmp_path, text)

    assert result.summary == counts(created=1)
    assert "feed.xml: note: control characters, which XML does not allow, are removed" in result.remarks
    assert titles() == {"Fog over  town"}


def test_an_ampersand_that_begins_no_reference_does_not_refuse_an_export(tmp_path: Path) -> None:
    """As in addresses and headlines of some exports; in a CDATA section it is one already."""
    parts = "<link>https://a.example/?a=1&b=2&amp;c=3</link><title>Cut &amp; Dry & Salt &mdash; &nope;</title>"
    text = (WXR % post(1, body="<p>R&D &mdash; S&amp;P</p>")).replace("<title><![CDATA[", f"{parts}<old><![CDATA[", 1)

    result = import_xml(tmp_path, text.replace("]]></title>", "]]></old>", 1))

    assert result.summary == counts(created=1)
    assert titles() == {"Cut & Dry & Salt — &nope;"}
    assert Article.objects.get().body == "<p>R&amp;D — S&amp;P</p>"


def test_a_reference_is_repaired_wherever_a_read_part_of_the_file_ends(tmp_path: Path) -> None:
    item = f"<item><title>%s&#x1F;Fog &amp; tide</title><guid>https://x.example/%s</guid>{DATED}</item>"

    import_xml(tmp_path, rss("".join(item % ("", number) + "<!--" + "x" * 1_911 + "-->" for number in range(200))))

    assert titles() == {"Fog & tide"}


@pytest.mark.parametrize("start", ["\n\n", " \r\n", "\ufeff\n", "\t"])
def test_blank_lines_before_the_declaration_do_not_refuse_a_feed(tmp_path: Path, start: str) -> None:
    item = f"<item><title>Fog</title><guid>https://x.example/1</guid>{DATED}</item>"

    assert import_xml(tmp_path, start + rss(item)).summary == counts(created=1)


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-kr", "windows-1251", "utf-16-le"])
def test_the_encoding_of_a_feed_that_declares_none_can_be_named(tmp_path: Path, encoding: str) -> None:
    title = {"shift_jis": "港", "euc-kr": "항구", "windows-1251": "Порт", "utf-16-le": "港湾"}[encoding]
    item = f"<item><title>{title}</title><guid>https://x.example/1</guid>{DATED}</item>"

    import_xml(tmp_path, rss(item).encode(encoding), "--format", "rss", "--encoding", encoding)

    assert titles() == {title}


def test_a_document_type_without_definitions_and_its_entities_are_read(tmp_path: Path) -> None:
    doctype = (
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">'
    )
    item = f"<item><title>Caf&eacute;&nbsp;&amp; &lt;Bar</title><guid>https://x.example/1</guid>{DATED}</item>"

    import_xml(tmp_path, rss(item).replace("<rss", f"{doctype}\n<rss", 1))

    assert titles() == {"Café\xa0& <Bar"}


@pytest.mark.parametrize("start", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;\n"])
def test_a_spreadsheet_may_name_its_separator(tmp_path: Path, start: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(f"{start}title;body\nOne, two;Text\nBad\n".encode())

    result = run_import(file)

    assert (titles(), result.remarks[0][:7]) == ({"One, two"}, "line 4:")
