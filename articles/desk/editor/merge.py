"""Three-way merge of two versions of an article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.desk.editor.body_field import as_shown
from articles.models import Article, Revision, Text
from articles.pages import newest_text
from articles.publishing import TIMES, FieldDiff, compare, compare_texts
from articles.text import (
    BOTH,
    MINE,
    THEIRS,
    Conflict,
    MergedBody,
    TextBlock,
    format_time_exactly,
    join,
    merge_bodies,
    plain_text,
)

PARAGRAPH = "body_"
"""Before the key of a conflict in the body, in names of form fields."""


@dataclass(frozen=True)
class Difference:
    """A field, or paragraphs of the body, that both users changed, with the diffs of both and the choices."""

    name: str
    label: str
    theirs: FieldDiff | None  #: None if it is not known what it was before
    mine: FieldDiff
    choices: Sequence[tuple[str, str]]
    chosen: str = ""


@dataclass(frozen=True)
class Merge:
    """The user's changes to an article that another user has saved since; both are based on revision `base`."""

    article: Article
    base: Revision | None
    changes: Mapping[str, Any]

    @cached_property
    def before(self) -> Text | None:
        """The text that both are based on, if it is known."""
        return _tidy(self.base.text) if self.base else None

    @cached_property
    def theirs(self) -> Text:
        """The stored text."""
        return _tidy(newest_text(self.article)[0])

    @cached_property
    def mine(self) -> Text:
        """The submitted text."""
        return _tidy(self.theirs.changed({name: self.changes[name] for name in Text.NAMES & self.changes.keys()}))

    @cached_property
    def body(self) -> MergedBody | None:
        """The bodies in one, if both users changed it."""
        if "body" not in self.changes or not (self.base is None or "body" in self._by_both):
            return None
        return merge_bodies(self.before.body if self.before else None, self.mine.body, self.theirs.body)

    def differences(self, labels: Mapping[str, str], chosen: Mapping[str, str]) -> list[Difference]:
        """What both changed, in form order."""
        found = []
        for name in labels:
            if name == "body":
                found += self._paragraphs(labels[name], chosen)
            elif name in self._differing:
                found.append(self._difference(name, labels[name], chosen))
        return [*found, *self._differing_times(labels, chosen)]

    def theirs_alone(self) -> set[str]:
        """Fields that only the other user changed."""
        return self._changed(self.theirs) - self._changed(self.mine) if self.base else set()

    def is_open(self, chosen: Mapping[str, str]) -> bool:
        """Whether a conflict in the body has no choice: each one needs its own, also one that came after the others."""
        return any(
            not chosen.get(f"{PARAGRAPH}{conflict.key}") for conflict in (self.body.conflicts if self.body else ())
        )

    def resolved(self, chosen: Mapping[str, str]) -> dict[str, Any]:
        """The remaining changes after all choices."""
        left = {name: value for name, value in self.changes.items() if chosen.get(name) != THEIRS}
        if self.body:
            choices = {name.removeprefix(PARAGRAPH): choice for name, choice in chosen.items()}
            left["body"] = self.body.body(choices)
        return left

    @cached_property
    def _differing(self) -> set[str]:
        """Fields in which the versions differ, and that both changed as far as is known."""
        differing = self.theirs.differences(self.mine)
        return differing & self._by_both if self.base else differing

    @cached_property
    def _by_both(self) -> set[str]:
        return self._changed(self.theirs) & self._changed(self.mine)

    def _changed(self, text: Text) -> set[str]:
        return self.before.differences(text) if self.before else set()

    def _difference(self, name: str, label: str, chosen: Mapping[str, str]) -> Difference:
        before = self._held(self.before or self.theirs)
        theirs, mine = (
            next((found for found in compare(before, self._held(text)) if found.name == name), None)
            for text in (self.theirs, self.mine)
        )
        assert mine is not None  # noqa: S101 (it differs)
        return Difference(name, label, theirs, mine, _choices(), chosen.get(name, ""))

    def _held(self, text: Text) -> Revision:
        """A revision of a text without its body, whose comparison would be in vain."""
        return Revision.holding(replace(text, body=""), article=self.article)

    def _paragraphs(self, label: str, chosen: Mapping[str, str]) -> list[Difference]:
        """The conflicts in the body, each by itself."""
        found = []
        for conflict in self.body.conflicts if self.body else ():
            name = f"{PARAGRAPH}{conflict.key}"
            base, theirs, mine = map(join, (conflict.base, conflict.theirs, conflict.mine))
            shown = compare_texts("body", label, base, theirs) if self.base else None
            legend = _("%(field)s: “%(start)s”") % {"field": label, "start": _start(conflict)}
            choices = _choices(can_be_both=bool(theirs and mine))
            compared = compare_texts("body", label, base, mine)
            found.append(Difference(name, legend, shown, compared, choices, chosen.get(name, "")))
        return found

    def _differing_times(self, labels: Mapping[str, str], chosen: Mapping[str, str]) -> list[Difference]:
        """Revisions have no earlier times, so both values are shown."""
        found = []
        for name in sorted(TIMES & self.changes.keys() & labels.keys()):
            moments = getattr(self.article, name), self.changes[name]
            theirs, mine = (compare_texts(name, labels[name], "", _said(moment)) for moment in moments)
            found.append(Difference(name, labels[name], theirs, mine, _choices(), chosen.get(name, "")))
        return found


def _choices(*, can_be_both: bool = False) -> list[tuple[str, str]]:
    both = [(BOTH, _("Both, mine first"))] if can_be_both else []
    return [(MINE, _("Mine")), (THEIRS, _("Other version")), *both]


def _start(conflict: Conflict) -> str:
    """The words by which a user finds the place."""
    blocks: Sequence[TextBlock] = conflict.base or conflict.mine or conflict.theirs
    return Truncator(" ".join(plain_text(join(blocks)).split())).chars(60)


def _tidy(text: Text) -> Text:
    """The text with a normalised body."""
    return replace(text, body=as_shown(text.body))


def _said(moment: datetime | None) -> str:
    return format_time_exactly(moment) if moment else _("no time")
