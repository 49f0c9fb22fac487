"""Review providers: plug-in classes that review a text after our own checks.

A provider is a class with one method, named in the setting `REVIEW_SERVICES`:

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
from django.db import connections
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from articles.models import Translatable
from articles.review.findings import Opinion
from articles.review.text import ReviewSubject
from articles.workflow import Verdict

logger = logging.getLogger(__name__)


class Provider(Protocol):
    """The interface of a review provider."""

    def review(self, subject: ReviewSubject) -> Opinion:
        """Review the texts and images of an article; called in a separate thread."""


def ask_providers(subject: ReviewSubject) -> Iterator[Opinion]:
    """Call all providers at once and wait for them together."""
    answers = {name: _ask(name, subject) for name in settings.REVIEW_SERVICES}
    deadline = time.monotonic() + settings.REVIEW_TIMEOUT
    for name, answer in answers.items():
        try:
            yield _checked(name, answer.get(timeout=max(deadline - time.monotonic(), 0)))
        except Empty:
            logger.warning("the review service %s gave no answer in time", name)
            yield _no_answer(name)


def _ask(name: str, subject: ReviewSubject) -> SimpleQueue[Any]:
    """Call one provider in a daemon thread; the queue gets its opinion."""
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
    text = gettext_noop("The review service “%(name)s” gave no usable answer.")
    return Opinion(Verdict.UNSURE, Translatable.of(text, name=service))
