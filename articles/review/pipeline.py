"""The automatic review: sensitive words and images first, then plug-in services.

A service is a class with one method, named in the setting `REVIEW_SERVICES`:

    class Moderation:
        def review(self, subject: Subject) -> Opinion:
            ...

It may take its time and fail: one that raises, is silent for `REVIEW_TIMEOUT` seconds or answers anything but an
`Opinion` leaves the article to a reviewer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from articles.review import words
from articles.review.findings import MOST_FINDINGS, Finding, Opinion, of_findings, strictest
from articles.review.images import review_images
from articles.review.text import BODY, Subject
from articles.workflow import Verdict

logger = logging.getLogger(__name__)

IMAGES_AT_ONCE = 5  # images up to which an article is reviewed while the editor waits
CONTEXT = 20  # characters shown on each side of a word


class Service(Protocol):
    """The interface of a plug-in service."""

    def review(self, subject: Subject) -> Opinion:
        """Review the texts and images of an article; called in a separate thread."""


def takes_long(subject: Subject) -> bool:
    """Whether the review is run in the background."""
    is_long = subject.length > settings.REVIEW_AT_ONCE or len(subject.images) > IMAGES_AT_ONCE
    return bool(settings.REVIEW_SERVICES) or is_long


def review(subject: Subject) -> Opinion:
    """The opinion of the automatic review about an article; errors need a reviewer and never pass."""
    try:
        return _review(subject)
    except DatabaseError:
        raise
    except Exception:
        logger.exception("the review of “%s” failed", subject.title)
        return Opinion(Verdict.UNSURE, _("The automatic review failed."))


def review_words(subject: Subject) -> Opinion:
    """The opinion by the present sensitive words alone."""
    return of_findings(_find(words.matcher(), subject))


def _review(subject: Subject) -> Opinion:
    matcher = words.matcher()
    own = strictest([of_findings(_find(matcher, subject)), review_images(subject)])
    if own.verdict is Verdict.BLOCKED:
        return own
    return strictest([own, *_ask_services(subject)])


def _find(matcher: words.Matcher, subject: Subject) -> Iterator[Finding]:
    for field, text in subject.texts():
        for match in matcher.find(text)[:MOST_FINDINGS]:
            yield Finding(
                field=field,
                paragraph=_paragraph(text, match.start) if field == BODY else 0,
                word=match.word,
                level=match.level,
                found=text[match.start : match.end][:MOST_FINDINGS],
                context=_context(text, match),
            )


def _paragraph(text: str, position: int) -> int:
    """The number of the paragraph at `position`; empty lines do not count."""
    return len([line for line in text[:position].split("\n")[:-1] if line.strip()]) + 1


def _context(text: str, match: words.Match) -> str:
    begin, end = max(match.start - CONTEXT, 0), match.end + CONTEXT
    before, after = "…" * (begin > 0), "…" * (end < len(text))
    return before + " ".join(text[begin:end].split()) + after


def _ask_services(subject: Subject) -> Iterator[Opinion]:
    """Call all services at once and wait for them together."""
    answers = {name: _ask(name, subject) for name in settings.REVIEW_SERVICES}
    deadline = time.monotonic() + settings.REVIEW_TIMEOUT
    for name, answer in answers.items():
        try:
            yield _checked(name, answer.get(timeout=max(deadline - time.monotonic(), 0)))
        except Empty:
            logger.warning("the review service %s gave no answer in time", name)
            yield _no_answer(name)


def _ask(name: str, subject: Subject) -> SimpleQueue[Any]:
    """Call one service in a daemon thread; the queue gets its opinion."""
    answer: SimpleQueue[Any] = SimpleQueue()

    def ask() -> None:
        try:
            answer.put(import_string(name)().review(subject))
        except Exception:
            logger.exception("the review service %s failed", name)
            answer.put(None)
        finally:
            connections.close_all()

    threading.Thread(target=ask, name=f"review {name}", daemon=True).start()
    return answer


def _checked(name: str, answer: object) -> Opinion:
    """The answer if it is an opinion, else that there is none."""
    if isinstance(answer, Opinion) and isinstance(answer.verdict, Verdict):
        return answer
    if answer is not None:
        logger.error("the review service %s answered %r", name, answer)
    return _no_answer(name)


def _no_answer(name: str) -> Opinion:
    service = name.rpartition(".")[2]
    return Opinion(Verdict.UNSURE, _("The review service “%(name)s” gave no usable answer.") % {"name": service})
