"""Import of WordPress exports: namespaces, blocks, shortcodes, categories, revisions and attachments."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from unittest.mock import Mock

import pytest

from articles.models import Article, Channel
from articles.text import clean_html
from tests.articles.import_files import WXR, Result, counts, post, run_import, term, write_wxr

pytestmark = pytest.mark.django_db


def meta(key: str, value: str) -> str:
    """A custom field of an item."""
    return (
        f"<wp:postmeta><wp:meta_key>{key}</wp:meta_key><wp:meta_value><![CDATA[{value}]]></wp:meta_value></wp:postmeta>"
    )


def attachment(number: int, address: str, *, parent: int = 0, alt: str = "", caption: str = "") -> str:
    """A file of the WordPress media library."""
    about = f"<wp:attachment_url>{address}</wp:attachment_url><wp:post_parent>{parent}</wp:post_parent>"
    kind = {"kind": "attachment", "status": "inherit", "summary": caption}
    return post(number, terms=about + meta("_wp_attachment_image_alt", alt), **kind)


def category(slug: str, name: str, *, parent: str = "", description: str = "") -> str:
    """A category in the head of the file."""
    return (
        f"<wp:category><wp:category_nicename>{slug}</wp:category_nicename><wp:category_parent>{parent}"
        f"</wp:category_parent><wp:cat_name>{name}</wp:cat_name>"
        f"<wp:category_description>{description}</wp:category_description></wp:category>"
    )


def import_posts(tmp_path: Path, *posts: str) -> Result:
    return run_import(write_wxr(tmp_path / "export.xml", *posts))


def body_of(tmp_path: Path, text: str, *around: str, terms: str = "") -> str:
    """The body that the import makes of a post."""
    result = import_posts(tmp_path, post(1, body=text, terms=terms), *around)
    assert result.summary == counts(created=1, skipped=len(around)), result
    return Article.objects.get().body


# The file


@pytest.mark.parametrize(
    "namespace",
    ["https://wordpress.org/export/1.2/", "http://wordpress.org/export/1.0/", "urn:whatever-this-site-declares"],
)
def test_the_declared_namespace_counts_whichever_it_is(tmp_path: Path, namespace: str) -> None:
    content = (WXR % post(1, title="One", summary="Short.")).replace("http://wordpress.org/export/1.2/", namespace)
    file = tmp_path / "export.xml"
    file.write_text(content)

    assert run_import(file, "--format", "wxr").summary == counts(created=1)
    assert Article.objects.get().summary == "Short."


def test_a_file_with_https_namespaces_is_recognised_as_wordpress(tmp_path: Path) -> None:
    file = tmp_path / "export.xml"
    file.write_text((WXR % post(1)).replace("http://wordpress.org/", "https://wordpress.org/"))

    assert run_import(file).summary == counts(created=1)
    assert "use --format wxr" in run_import(file, "--format", "rss").error


def test_attachments_and_categories_behind_a_post_are_found(tmp_path: Path) -> None:
    late = attachment(9, "https://gazette.example/uploads/quay.jpg") + category("news", "News", description="All of it")

    import_posts(tmp_path, post(1, terms=meta("_thumbnail_id", "9") + term("category", "News", "news")), late)

    article = Article.objects.get()
    assert article.body.startswith('<figure><img src="https://gazette.example/uploads/quay.jpg" alt=""></figure>')
    assert article.channel is not None
    assert article.channel.description == "All of it"


# Texts


def test_blocks_are_html_and_get_no_paragraphs_of_ours(tmp_path: Path) -> None:
    text = "<!-- wp:heading -->\n<h2>Tides</h2>\n<!-- /wp:heading -->\n\n<!-- wp:list -->\n<ul><li>High</li></ul>\n"

    assert body_of(tmp_path, text + "<!-- /wp:list -->\n\n<!-- wp:spacer --><div></div><!-- /wp:spacer -->") == (
        "<h2>Tides</h2>\n\n<ul><li>High</li></ul>"
    )


def test_empty_paragraphs_of_the_block_editor_are_dropped(tmp_path: Path) -> None:
    text = "<!-- wp:paragraph --><p></p><!-- /wp:paragraph --><!-- wp:paragraph --><p>A</p><!-- /wp:paragraph -->"

    assert body_of(tmp_path, text) == "<p>A</p>"


def test_a_text_of_the_classic_editor_gets_its_paragraphs(tmp_path: Path) -> None:
    assert body_of(tmp_path, "One.\n\nTwo,\nstill two.") == "<p>One.</p>\n\n<p>Two,<br>still two.</p>"


def test_dynamic_blocks_are_reported(tmp_path: Path) -> None:
    text = '<!-- wp:paragraph --><p>A</p><!-- /wp:paragraph --><!-- wp:latest-posts {"postsToShow":3} /-->'

    result = import_posts(tmp_path, post(1, body=text), post(2, body=f"{text}<!-- wp:acme/map /-->"))

    assert result.remarks == [
        "note: 2 records: the content of the block “latest-posts” is skipped",
        "note: 1 record: the content of the block “acme/map” is skipped",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<!-- wp:embed --><figure class="wp-block-embed is-type-video"><div class="wp-block-embed__wrapper">\n'
        "https://video.example/watch?v=1&amp;t=2\n</div></figure><!-- /wp:embed -->",
        "[embed width=&quot;3&quot;]https://video.example/watch?v=1&amp;t=2[/embed]",
        "[youtube https://video.example/watch?v=1&amp;t=2]",
    ],
)
def test_an_embed_becomes_a_url_alone_in_its_paragraph(tmp_path: Path, text: str) -> None:
    address = "https://video.example/watch?v=1&amp;t=2"

    assert body_of(tmp_path, text) == f'<p><a href="{address}" rel="noopener noreferrer">{address}</a></p>'


def test_the_caption_of_an_embedded_page_stays(tmp_path: Path) -> None:
    text = (
        '<!-- wp:embed --><figure class="wp-block-embed"><div class="wp-block-embed__wrapper">https://v.example/1</div>'
        '<figcaption class="x">The <em>quay</em></figcaption></figure><!-- /wp:embed -->'
    )

    assert "<p>The <em>quay</em></p>" in body_of(tmp_path, text)


def test_captions_become_figures(tmp_path: Path) -> None:
    text = '[caption id="a_1" width="300"]<a href="/x"><img src="https://g.example/1.jpg"></a> The quay[/caption]'

    body = body_of(tmp_path, text)

    assert re.fullmatch(r"<figure><a [^>]*><img [^>]*></a><figcaption>The quay</figcaption></figure>", body)


def test_a_gallery_shows_the_images_it_names(tmp_path: Path) -> None:
    images = [attachment(number, f"https://g.example/{number}.jpg", alt=f"No {number}") for number in (7, 8, 9)]

    body = body_of(tmp_path, 'Look:\n\n[gallery ids="9,7"]', *images)

    assert re.findall(r'src="([^"]+)" alt="([^"]+)"', body) == [
        ("https://g.example/9.jpg", "No 9"), ("https://g.example/7.jpg", "No 7"),
    ]  # fmt: skip


def test_a_gallery_without_ids_shows_the_images_of_its_post(tmp_path: Path) -> None:
    images = [
        attachment(7, "https://g.example/7.jpg", parent=1, caption="Seven"),
        attachment(8, "https://g.example/8.pdf", parent=1),
        attachment(9, "https://g.example/9.jpg", parent=2),
    ]

    assert body_of(tmp_path, "[gallery]", *images) == (
        '<figure><img src="https://g.example/7.jpg" alt=""><figcaption>Seven</figcaption></figure>'
    )


def test_a_gallery_with_missing_images_is_reported(tmp_path: Path) -> None:
    result = import_posts(tmp_path, post(1, body='[gallery ids="9,7"] [gallery]'))

    assert result.remarks == ["note: 1 record: images of a gallery are not in the file"]


def test_audio_and_video_become_players(tmp_path: Path) -> None:
    body = body_of(tmp_path, '[audio mp3="https://g.example/a.mp3"][/audio]\n\n[video src="https://g.example/b.mp4"]')

    assert '<audio src="https://g.example/a.mp3" controls' in body
    assert '<video src="https://g.example/b.mp4" controls' in body


def test_other_shortcodes_stay_and_are_reported_but_words_in_brackets_are_not(tmp_path: Path) -> None:
    text = 'He said "[sic] it [laughs] was". [contact-form id="4"] [pullquote]Big[/pullquote]'

    result = import_posts(tmp_path, post(1, body=text))

    assert result.remarks == [
        "note: 1 record: the shortcode [contact-form] stays in the text unchanged",
        "note: 1 record: the shortcode [pullquote] stays in the text unchanged",
    ]
    assert '[contact-form id="4"]' in Article.objects.get().body


def test_footnotes_are_at_their_block_without_dangling_links(tmp_path: Path) -> None:
    text = (
        '<!-- wp:paragraph --><p>High<sup data-fn="k1" class="fn"><a href="#k1" id="k1-link">1</a></sup></p>'
        "<!-- /wp:paragraph --><!-- wp:footnotes /--><!-- wp:paragraph --><p>End</p><!-- /wp:paragraph -->"
    )
    notes = meta("footnotes", '[{"id":"k1","content":"At <em>noon</em>"}]')

    result = import_posts(tmp_path, post(1, body=text, terms=notes))

    assert result.remarks == []
    assert Article.objects.get().body == "<p>High<sup>1</sup></p>\n\n<ol><li>At <em>noon</em></li></ol><p>End</p>"


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, '{"id": 1}', '["x"]', "[]"])
def test_broken_footnotes_do_not_stop_a_post(tmp_path: Path, broken: str) -> None:
    assert body_of(tmp_path, "<p>A</p>", terms=meta("footnotes", broken)) == "<p>A</p>"


def test_the_featured_image_is_above_the_text_unless_it_contains_it(tmp_path: Path) -> None:
    image = attachment(9, "https://gazette.example/uploads/quay.jpg", alt='A "quay"', caption="The quay")
    featured = meta("_thumbnail_id", "9")
    small = '<p>A</p><img src="/uploads/quay-300x200.jpg">'

    import_posts(tmp_path, post(1, terms=featured, body="<p>A</p>"), post(2, terms=featured, body=small), image)

    first, second = Article.objects.order_by("pk")
    assert first.body == (
        '<figure><img src="https://gazette.example/uploads/quay.jpg" alt="A &quot;quay&quot;">'
        "<figcaption>The quay</figcaption></figure>\n\n<p>A</p>"
    )
    assert second.body.count("<img") == 1


def test_a_missing_featured_image_is_reported(tmp_path: Path) -> None:
    result = import_posts(tmp_path, post(1, terms=meta("_thumbnail_id", "404")))

    assert result.remarks == ["note: 1 record: the featured image is not in the file"]


def test_relative_urls_are_resolved_against_the_old_site(tmp_path: Path) -> None:
    body = body_of(tmp_path, '<p><a href="/about">x</a><a href="#top">y</a><img src="uploads/1.jpg"></p>')

    assert re.findall(r'(?:href|src)="([^"]+)"', body) == [
        "https://gazette.example/about", "#top", "https://gazette.example/uploads/1.jpg",
    ]  # fmt: skip


def test_scripts_in_captions_alts_and_footnotes_do_not_survive(tmp_path: Path) -> None:
    bad = '"><script>alert(1)</script>'
    image = attachment(9, "https://g.example/9.jpg", alt=escape(bad), caption=escape(bad, quote=False))
    notes = meta("_thumbnail_id", "9") + meta("footnotes", '[{"content":"<script>alert(1)</script>"}]')

    body = body_of(tmp_path, f"[caption caption='{bad}']<img src=1>{bad}[/caption]", image, terms=notes)

    assert "<script" not in body


# Around the text


def test_an_address_that_control_characters_hide_does_not_survive(tmp_path: Path) -> None:
    file = tmp_path / "export.xml"
    file.write_text(re.sub("<wp:base_.*>", "", WXR % post(1, body='<p><a href="java&#2script:alert(1)">Tide</a></p>')))

    run_import(file)

    assert "javascript" not in Article.objects.get().body


def test_each_text_is_sanitised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Mock(side_effect=clean_html)
    monkeypatch.setattr("articles.exchange.validate.clean_html", calls)
    monkeypatch.setattr("articles.exchange.wordpress_html.clean_html", calls)

    import_posts(tmp_path, *(post(number, body="<p>Tide.</p>") for number in range(1, 4)))

    assert calls.call_count == 3


def test_the_time_of_the_last_change_is_kept(tmp_path: Path) -> None:
    changed = "<wp:post_modified_gmt>2024-03-05 10:00:00</wp:post_modified_gmt>"
    earlier = "<wp:post_modified_gmt>2020-01-01 10:00:00</wp:post_modified_gmt>"

    import_posts(tmp_path, post(1, terms=changed), post(2, terms=earlier), post(3))

    published = datetime(2024, 3, 1, 8, 30, tzinfo=UTC)
    times = list(Article.objects.order_by("pk").values_list("text_changed_at", flat=True))
    assert times == [datetime(2024, 3, 5, 10, tzinfo=UTC), published, published]


def test_categories_with_the_same_name_stay_separate(tmp_path: Path) -> None:
    head = category("politics", "Politics") + category("sports", "Sports")
    head += category("politics-local", "Local", parent="politics") + category("sports-local", "Local", parent="sports")

    result = import_posts(
        tmp_path, head, post(1, terms=term("category", "Local", "politics-local")),
        post(2, terms=term("category", "Local", "sports-local")), post(3, terms=term("category", "Sports", "sports")),
    )  # fmt: skip

    assert set(Channel.objects.values_list("name", "slug")) == {
        ("Politics / Local", "politics-local"), ("Sports / Local", "sports-local"), ("Sports", "sports"),
    }  # fmt: skip
    assert result.remarks == [
        "note: 1 record: the category “Local” has the parent “Politics”; channels have no parents",
        "note: 1 record: the category “Local” has the parent “Sports”; channels have no parents",
    ]


def test_a_named_channel_keeps_its_own_slug_and_description(tmp_path: Path) -> None:
    posts = post(1), post(2, terms=term("category", "News", "news"))
    file = write_wxr(tmp_path / "export.xml", category("news", "News", description="Old"), *posts)

    run_import(file, "--channel", "Archive")

    assert list(Channel.objects.values_list("name", "slug", "description")) == [("Archive", "archive", "")]


def test_all_authors_of_a_post_are_its_byline(tmp_path: Path) -> None:
    """The plugin Co-Authors Plus stores them as terms."""
    both = term("author", "Ada") + term("author", "Bo Li")
    result = import_posts(tmp_path, post(1, title="Fog", terms=both))

    assert result.summary == counts(created=1)
    assert not any("author" in remark for remark in result.remarks)
    assert Article.objects.get().byline == "Ada, Bo Li"


def test_a_post_without_a_title_gets_its_first_words(tmp_path: Path) -> None:
    result = import_posts(tmp_path, post(1, title="", body="<p>High water at noon.</p>"), post(2, title="", body=""))

    assert (result.code, result.summary) == (0, counts(created=2))
    assert result.remarks == ["note: 2 records: has no title; its first words become the headline"]
    assert set(Article.objects.values_list("title", flat=True)) == {"High water at noon.", "Untitled"}


def test_everything_that_is_skipped_is_reported(tmp_path: Path) -> None:
    comment = "<wp:comment><wp:comment_id>3</wp:comment_id><wp:comment_content>Hi</wp:comment_content></wp:comment>"
    terms = "<wp:is_sticky>1</wp:is_sticky>" + comment + meta("Mood", "fine") + meta("_edit_last", "1")
    terms += term("post_format", "Aside") + term("series", "Harbours")

    assert import_posts(tmp_path, post(1, terms=terms), post(2)).remarks == [
        "note: 1 record: the post format (Aside) is skipped",
        "note: 1 record: terms of “series” are skipped",
        "note: 1 record: it is sticky; here lists are always ordered by time",
        "note: 1 record: comments are skipped",
        "note: 1 record: the custom field “Mood” is skipped",
    ]


def test_a_repeat_changes_nothing(tmp_path: Path) -> None:
    file = write_wxr(
        tmp_path / "export.xml", category("news", "News"), attachment(9, "https://g.example/9.jpg"),
        post(1, body="[gallery ids=9]", terms=meta("_thumbnail_id", "9") + term("category", "News", "news")),
    )  # fmt: skip
    run_import(file)

    assert run_import(file).summary == counts(skipped=2)
