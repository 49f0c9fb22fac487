"""Perform a transition with articles from a terminal or a script, as a user and with that user's permissions."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from articles.audit import Actor
from articles.exceptions import ArticleError, ArticleGone
from articles.management.arguments import time_to_act
from articles.management.base import NewsroomCommand
from articles.models import Article
from articles.publishing import perform
from articles.workflow import TRANSITIONS, Transition


class Command(NewsroomCommand):
    """Each article is its own transaction: one that is refused does not stop the others."""

    help = "Perform a transition, such as submit, approve or publish, on articles, with a user's permissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the transition, the articles and the user."""
        names = [transition.value for transition, rule in TRANSITIONS.items() if rule.is_for_one]
        parser.add_argument("transition", choices=names, metavar="TRANSITION", help=", ".join(names))
        parser.add_argument("ids", type=int, nargs="+", metavar="ID", help="ids of the articles")
        parser.add_argument("--by", required=True, metavar="NAME", help="username of the user who performs it")
        parser.add_argument("--at", type=time_to_act, metavar="TIME", help="ISO 8601; for schedule and schedule_update")
        parser.add_argument("--reason", default="", help="feedback for reject; notice to readers for retract")
        parser.add_argument(
            "--revision",
            type=int,
            nargs="+",
            metavar="NUMBER",
            help="for approve: the revision read of each article",
        )
        parser.add_argument("--override", metavar="REASON", help="for approve, by superusers: the reason")

    def handle(self, *args: Any, **options: Any) -> None:
        """Perform the transition with each article; print the refusals and how many were done."""
        by = self.user(options["by"])
        if options["revision"] and len(options["revision"]) != len(options["ids"]):
            raise CommandError(_("Give a --revision for each article, in the same order."))
        done = self._perform(Transition(options["transition"]), options["ids"], by, options)
        self.stdout.write(f"done={done} refused={len(options['ids']) - done}")
        if done < len(options["ids"]):
            sys.exit(1)

    def _perform(self, transition: Transition, ids: Sequence[int], by: Actor, options: dict[str, Any]) -> int:
        done = 0
        for pk, revision in zip(ids, options["revision"] or repeat(None), strict=False):
            try:
                article = Article.objects.filter(pk=pk).first()
                if article is None:
                    raise ArticleGone
                perform(transition, article, by=by, revision=revision, **_given(options))
                done += 1
            except ArticleError as refusal:
                self.stderr.write(f"{pk}: {refusal.code}: {refusal}")
        return done


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "publish_at": options["at"],
        "at_once": False,
        "reason": options["reason"],
        "notice": options["reason"],
        "override": options["override"],
    }
