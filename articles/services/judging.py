"""Asking the automatic review about a text, and writing down what it says."""

from __future__ import annotations

from articles.models import Article, Review, Revision, Update, WordList
from articles.review import Opinion, Subject, review, takes_long
from articles.workflow import VERDICTS, Verdict
from scheduling.services import add_task, read_database_clock

Status = Article.Status

REVIEW = "articles.review"


def judge(subject: Article | Update, revision: Revision, *, ask_a_person: bool = False) -> None:
    """Give `subject` the status that the review of its text leads to: at once, or in the background if it is long.

    With `ask_a_person` the machine may refuse the text, but not let it pass. The caller holds the article and saves.
    """
    text = Subject.of(revision.text)
    if takes_long(text):
        subject.status, subject.status_reason = Status.SUBMITTED, ""
        parameters = {"article_id": revision.article_id, "ask_a_person": ask_a_person}
        key = str(revision.article_id)
        add_task(REVIEW, execute_time=read_database_clock(), parameters=parameters, key=key)
        return
    WordList.hold()  # words that change from here on find this article approved, and review it again
    decide(subject, revision, review(text), ask_a_person=ask_a_person)


def judge_again(subject: Article | Update, revision: Revision) -> None:
    """A text that a reviewer has before him was changed: the machine may refuse it, but the reviewer decides."""
    judge(subject, revision, ask_a_person=True)


def decide(subject: Article | Update, revision: Revision, opinion: Opinion, *, ask_a_person: bool = False) -> None:
    """Set the status and reason that follow from an opinion, and keep its findings; the caller saves `subject`."""
    passed_to_a_person = ask_a_person and opinion.verdict is Verdict.PASSED
    subject.status = Status.MANUAL_REVIEW if passed_to_a_person else VERDICTS[opinion.verdict]
    subject.status_reason = opinion.short_reason
    findings = [finding.as_json() for finding in opinion.findings]
    Review.objects.update_or_create(revision=revision, defaults={"findings": findings})
