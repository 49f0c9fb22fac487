"""Three-way merge of two versions of an article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from articles.desk.editor.body_field import as_shown
from articles.desk.parse_int import whole_number
from articles.models import Article, Revision, Text
from articles.pages import newest_text
from articles.publishing import TIMES, compare
from articles.text import Change, Passage, Piece, format_time_exactly, merged

MINE, THEIRS, BOTH = "mine", "theirs", "both"


@dataclass(frozen=True)
class Difference:
    """A field that both users changed, with its diffs and choices."""

    name: str
    label: str
    theirs: Sequence[Passage]
    mine: Sequence[Passage]
    choices: Sequence[tuple[str, str]]
    chosen: str = ""


@dataclass(frozen=True)
class Merge:
    """The user's changes to an article that another user has saved since; both are based on revision `base`."""

    article: Article
    base: Revision | None
    changes: Mapping[str, Any]

    @property
    def theirs(self) -> Text:
        """The stored text."""
        return _tidy(newest_text(self.article)[0])

    @property
    def mine(self) -> Text:
        """The submitted text."""
        return _tidy(self.theirs.changed({name: self.changes[name] for name in Text.NAMES & self.changes.keys()}))

    @property
    def both(self) -> str | None:
        """A body with both changes, if they are in different paragraphs."""
        return merged(_tidy(self.base.text).body, self.mine.body, self.theirs.body) if self.base else None

    def differences(self, labels: Mapping[str, str], chosen: Mapping[str, str]) -> list[Difference]:
        """Fields that both changed, in form order."""
        theirs, mine = self._compared(self.theirs), self._compared(self.mine)
        if self.base is None:  # the common base is unknown: every difference is a question
            mine = {diff.name: diff.passages for diff in compare(self._held(self.theirs), self._held(self.mine))}
            theirs = dict.fromkeys(mine, ())
        differing = {diff.name for diff in compare(self._held(self.theirs), self._held(self.mine))}
        found = [
            Difference(name, labels[name], theirs[name], mine[name], self._choices(name), chosen.get(name, ""))
            for name in labels
            if name in differing & theirs.keys() & mine.keys()
        ]
        return [*found, *self._differing_times(labels, chosen)]

    def theirs_alone(self) -> set[str]:
        """Fields that only the other user changed."""
        return set(self._compared(self.theirs)) - set(self._compared(self.mine)) if self.base else set()

    def resolved(self, chosen: Mapping[str, str]) -> dict[str, Any]:
        """The remaining changes after all choices."""
        left = {name: value for name, value in self.changes.items() if chosen.get(name) != THEIRS}
        if chosen.get("body") == BOTH and self.both is not None:
            left["body"] = self.both
        return left

    def _compared(self, text: Text) -> dict[str, Sequence[Passage]]:
        if self.base is None:
            return {}
        return {diff.name: diff.passages for diff in compare(self._held(_tidy(self.base.text)), self._held(text))}

    def _held(self, text: Text) -> Revision:
        return Revision.holding(text, article=self.article)

    def _choices(self, name: str) -> list[tuple[str, str]]:
        choices = [(MINE, _("Mine")), (THEIRS, _("Other version"))]
        if name == "body" and self.both is not None:
            choices.insert(0, (BOTH, _("Both: the changes are in different paragraphs")))
        return choices

    def _differing_times(self, labels: Mapping[str, str], chosen: Mapping[str, str]) -> list[Difference]:
        """Revisions have no earlier times, so both values are shown."""
        found = []
        for name in sorted(TIMES & self.changes.keys() & labels.keys()):
            theirs, mine = _said(getattr(self.article, name)), _said(self.changes[name])
            found.append(Difference(name, labels[name], theirs, mine, self._choices(name), chosen.get(name, "")))
        return found


def base_of(article: Article, number: str) -> Revision | None:
    """The revision the form is based on."""
    return article.revisions.filter(number=whole_number(number)).first()


def _tidy(text: Text) -> Text:
    """The text with a normalised body."""
    return replace(text, body=as_shown(text.body))


def _said(moment: datetime | None) -> list[Passage]:
    return [Passage([Piece(Change.ADDED, format_time_exactly(moment) if moment else _("no time"))])]
