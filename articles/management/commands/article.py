"""Take a step with articles from a terminal or a script, as somebody of the newsroom and with his rights alone."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from articles.audit import Actor
from articles.desk.transitions import take
from articles.exceptions import ArticleError, ArticleGone
from articles.management.arguments import time_to_act
from articles.management.base import NewsroomCommand
from articles.models import Article
from articles.workflow import Transition

TAKEN = [transition for transition in Transition if transition not in {Transition.RESCHEDULE, Transition.SET_EMBARGO}]
"""The steps that need no more than a time or a reason."""


class Command(NewsroomCommand):
    """Each article is a transaction of its own: one that is refused does not hold the others up."""

    help = "Submit, approve, schedule, publish … articles as somebody of the newsroom."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the step, the articles and the person."""
        parser.add_argument("step", choices=[transition.value for transition in TAKEN])
        parser.add_argument("ids", type=int, nargs="+", metavar="ID")
        parser.add_argument("--by", required=True, metavar="NAME", help="log-in of whoever takes the step")
        parser.add_argument("--at", type=time_to_act, metavar="TIME", help="ISO 8601, for steps that need a time")
        parser.add_argument("--reason", default="", help="for steps that need one")
        parser.add_argument(
            "--revision", type=int, nargs="+", metavar="NUMBER", help="what was read of each article, for “approve”"
        )
        parser.add_argument("--override", metavar="REASON", help="approve although the rule forbids it; administrators")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the step with each article; print what was refused and how many were done."""
        by = self.user(options["by"])
        if options["revision"] and len(options["revision"]) != len(options["ids"]):
            raise CommandError(_("Give a --revision for each article, in the same order."))
        done = self._take(Transition(options["step"]), options["ids"], by, options)
        self.stdout.write(f"done={done} refused={len(options['ids']) - done}")
        if done < len(options["ids"]):
            sys.exit(1)

    def _take(self, transition: Transition, ids: Sequence[int], by: Actor, options: dict[str, Any]) -> int:
        done = 0
        for pk, revision in zip(ids, options["revision"] or repeat(None), strict=False):
            try:
                article = Article.objects.filter(pk=pk).first()
                if article is None:
                    raise ArticleGone
                given = {name: options[name] for name in ("reason", "override")}
                take(transition, article, by=by, publish_at=options["at"], revision=revision, **given)
                done += 1
            except ArticleError as refusal:
                self.stderr.write(f"{pk}: {refusal.code}: {refusal}")
        return done
