"""The list of checks: one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from articles.checks.draft import Draft
from articles.checks.links import broken_links
from articles.review import Finding, ReviewSubject, review_words
from articles.text import format_time_exactly

GOOD_HEADLINE, GOOD_HEADLINE_HAN = 70, 30
GOOD_SUMMARY, GOOD_SUMMARY_HAN = 160, 80
"""Characters that lists and search engines show."""


@dataclass(frozen=True)
class DraftProblem:
    """What a check found, and the form field that fixes it; `passage` is the text to look for in it."""

    field: str
    message: str
    passage: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check. `lacks` names the field that it misses, in the warning after a submission."""

    key: str
    find: Callable[[Draft], Iterator[DraftProblem]]
    lacks: str | Promise = ""


def problems(draft: Draft) -> list[DraftProblem]:
    """What all checks find, in their order."""
    return [problem for check in CHECKS for problem in check.find(draft)]


def lacking(draft: Draft) -> list[str]:
    """The names of usual fields that are empty."""
    return [str(check.lacks) for check in CHECKS if check.lacks and any(check.find(draft))]


def _channel(draft: Draft) -> Iterator[DraftProblem]:
    if draft.text.channel_id is None:
        yield DraftProblem("channel", _("No channel is chosen."))


def _time(draft: Draft) -> Iterator[DraftProblem]:
    if draft.publish_at is None and not draft.is_out:
        yield DraftProblem("publish_at", _("No publish time is set."))


def _summary(draft: Draft) -> Iterator[DraftProblem]:
    if not draft.text.summary.strip():
        yield DraftProblem("summary", _("There is no summary. Lists, search engines and social networks show one."))


def _lengths(draft: Draft) -> Iterator[DraftProblem]:
    headline, summary = (GOOD_HEADLINE_HAN, GOOD_SUMMARY_HAN) if draft.is_han else (GOOD_HEADLINE, GOOD_SUMMARY)
    if (length := len(draft.text.title)) > headline:
        text = _("The headline has %(length)d characters; lists and search engines show about %(good)d.")
        yield DraftProblem("title", text % {"length": length, "good": headline})
    if (length := len(draft.text.summary)) > summary:
        text = _("The summary has %(length)d characters; lists and search engines show about %(good)d.")
        yield DraftProblem("summary", text % {"length": length, "good": summary})


def _body(draft: Draft) -> Iterator[DraftProblem]:
    if not draft.body.has_words and not draft.body.images:
        yield DraftProblem("body", _("The text is empty."))


def _alt_texts(draft: Draft) -> Iterator[DraftProblem]:
    if count := sum(not image.alt for image in draft.images):
        yield DraftProblem("cover", ngettext("A cover image has no alt text.", "Cover images have no alt text.", count))
    if count := draft.body.undescribed:
        text = ngettext("%d image in the text has no alt text.", "%d images in the text have no alt text.", count)
        yield DraftProblem("body", text % count, passage="img")


def _words(draft: Draft) -> Iterator[DraftProblem]:
    found = review_words(ReviewSubject.of(draft.text, draft.correction)).findings
    for finding in dict.fromkeys(found):
        text = _("Blocked word “%(word)s”: %(place)s.") if finding.is_blocking else _("Word “%(word)s”: %(place)s.")
        word = finding.found or finding.word
        yield DraftProblem(_field_of(finding), text % {"word": word, "place": finding.place}, finding.found)


def _links(draft: Draft) -> Iterator[DraftProblem]:
    for link in broken_links(draft.body.links, draft.seen_at):
        if link.goes_live_at:
            text = _("The link to “%(headline)s” is plain text for readers until that article goes live on %(time)s.")
            values = {"headline": link.headline, "time": format_time_exactly(link.goes_live_at)}
            yield DraftProblem("body", text % values, link.address)
        elif link.headline:
            text = _("A link leads to “%(headline)s”, which readers cannot see.")
            yield DraftProblem("body", text % {"headline": link.headline}, link.address)
        else:
            yield DraftProblem("body", _("A link leads to a missing page: %s.") % link.address, link.address)


def _field_of(finding: Finding) -> str:
    return "cover" if finding.field == "captions" else finding.field


CHECKS = (
    Check(key="channel", find=_channel, lacks=gettext_lazy("channel")),
    Check(key="time", find=_time, lacks=gettext_lazy("publish at")),
    Check(key="summary", find=_summary, lacks=gettext_lazy("summary")),
    Check(key="body", find=_body),
    Check(key="lengths", find=_lengths),
    Check(key="alt", find=_alt_texts),
    Check(key="words", find=_words),
    Check(key="links", find=_links),
)
"""In the order in which they are shown."""
