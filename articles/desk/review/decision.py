"""The review page: changes of a text, and the decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from articles import publishing
from articles.desk.bounded import SearchedScreens
from articles.desk.confirmation import CONFIRMED
from articles.desk.following import ASKED, POLL, Following, answer_unchanged, next_change, version_of
from articles.desk.notes.screens import notes_context
from articles.desk.parse import instant, number_or_zero
from articles.desk.transitions import may_take, state, state_of_update, waits_at
from articles.exceptions import ArticleError, ReasonMissing
from articles.limits import REASON_LENGTH
from articles.models import Article, QueuedArticle, ReviewProgress, ReviewStage, Revision, SoftLock, StageApproval
from articles.permissions import REVIEW, refusal
from articles.publishing import Actor, approval_blocker, compare, for_review, last_approved
from articles.review import at_own_stage, beyond, findings_of
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock

LOOKED_AT = 200
"""Waiting articles searched for the next one."""

BUTTONS = {"approve", "reject", "override", "skip", "claim", "release"}
"""One of them is sent with the form."""


class DecisionForm(forms.Form):
    """The decision: the reviewed revision and its stage and, for a rejection, the feedback."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    stage = forms.ChoiceField(choices=ReviewStage.Kind.choices, required=False)
    reason = forms.CharField(
        label=gettext_lazy("Feedback to author, if you reject it"),
        required=False,
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextareaWidget(
            {"rows": 1, "class": "review-feedback", "placeholder": gettext_lazy("Feedback to author, if you reject it")}
        ),
    )
    override_reason = forms.CharField(
        label=gettext_lazy("Reason for the override"),
        required=False,
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
        help_text=gettext_lazy("The reason and the override are recorded in the audit log."),
    )
    sure = forms.BooleanField(
        label=gettext_lazy("I know that no other user has approved this text."),
        required=False,
        widget=UnfoldBooleanWidget,
    )

    def clean(self) -> dict[str, Any]:
        """An override needs a confirmation and a reason."""
        values = super().clean() or self.cleaned_data
        if "override" in self.data:
            if not values.get("sure"):
                self.add_error("sure", _("Confirm the override."))
            if not values.get("override_reason", "").strip():
                self.add_error("override_reason", _("Say why it is approved although the rule forbids it."))
        return values


class DecidingScreen(SearchedScreens):
    """A waiting article with its changes since the last approval; after a decision the next one is shown."""

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, *args: Any, **options: Any) -> Any:
        """Show the text, or process the decision."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if "leave" in request.POST:
            return _leave(request, object_id)
        if ASKED in request.GET:
            return self._state(request, object_id)
        form = DecisionForm(request.POST or None)
        if (row := self._row(request, object_id)) and form.is_valid():
            answer = self._act(request, row, form)
            row = None if answer else self._row(request, object_id)  # another reviewer may have been faster
            if answer:
                return answer
        if row is None:
            self.message_user(request, _("This article no longer needs review."), messages.WARNING)
            return redirect("admin:articles_queuedarticle_changelist")
        return self._page(request, row, form)

    def _row(self, request: HttpRequest, pk: str | None) -> Any:
        return self.get_queryset(request).filter(pk=number_or_zero(pk)).first()

    def _state(self, request: HttpRequest, pk: str | None) -> HttpResponse:
        """When it goes live, for the open page; nothing is claimed."""
        article = Article.objects.select_related("update").filter(pk=number_or_zero(pk)).first()
        if article is None:
            raise Http404
        is_decided, now = self._row(request, pk) is None, read_database_clock()
        following = _following(article, request, now, is_decided=is_decided)
        if unchanged := answer_unchanged(request, following):
            return unchanged
        context = {**_planned(article, now), "is_decided": is_decided, "follow": following.as_json()}
        return TemplateResponse(request, "articles/desk/review/state.html", context)

    def _act(self, request: HttpRequest, row: Any, form: DecisionForm) -> HttpResponse | None:
        """Process it and return a response; None on an error, which is shown on the page."""
        article, by = Article.objects.get(pk=row.pk), request.user
        if not BUTTONS & request.POST.keys():  # it was cut off
            self.message_user(request, _("This form is incomplete. Open the article again."), messages.ERROR)
            return None
        try:
            if "claim" in request.POST:
                publishing.soft_lock(article, by=by)
            elif "release" in request.POST:
                was_own = _soft_lock_of(article, by) is not None
                publishing.release_soft_lock(article, by=by)
                if was_own:  # this page would claim it again
                    return redirect("admin:articles_queuedarticle_changelist")
            else:
                _refuse_unconfirmed(request, article)
                _decide(request, article, form)
                self._notify(request, article)
                return self._next(request, row)
        except publishing.Unconfirmed as asked:
            return _question(request, article, asked)
        except ReasonMissing as missing:
            form.add_error("reason", str(missing))
            return None
        except ArticleError as refused:
            self.message_user(request, str(refused), messages.ERROR)
            return None
        return redirect("admin:articles_queuedarticle_change", article.pk)

    def _notify(self, request: HttpRequest, article: Article) -> None:
        """Result message of a decision."""
        if "skip" in request.POST:
            return
        pending_update = article.pending_update
        subject = pending_update if pending_update and pending_update.draft_id else article
        if subject.status == Article.Status.MANUAL_REVIEW:
            shown = waits_at(ReviewProgress.of(article))
        else:
            now = read_database_clock()
            shown = f"{state(article, now)} {state_of_update(article, now)}".strip()
        self.message_user(request, f"{article}: {shown}", messages.SUCCESS)

    def _next(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Redirect to the next article to review."""
        for other in self._others(request, row):
            return redirect("admin:articles_queuedarticle_change", other.pk)
        self.message_user(request, _("No more articles to review."), messages.INFO)
        return redirect("admin:articles_queuedarticle_changelist")

    def _others(self, request: HttpRequest, row: Any) -> Iterator[Any]:
        """Other free articles at the user's stage, first those after `row`."""
        rows = self._own_queue(request).exclude(pk=row.pk).select_related("soft_lock", "author")
        now, place = read_database_clock(), (row.since, row.pk)
        waiting = sorted(rows.order_by("since", "pk")[:LOOKED_AT], key=lambda other: (other.since, other.pk) < place)
        for other in waiting:
            soft_lock = getattr(other, "soft_lock", None)
            is_free = soft_lock is None or soft_lock.user_id == request.user.pk or not soft_lock.counts_at(now)
            if is_free and may_take(Transition.APPROVE, request.user, other):
                yield other

    def _own_queue(self, request: HttpRequest) -> Any:
        """The articles that wait at a stage of the user."""
        return at_own_stage(self.get_queryset(request), request.user)

    def _page(self, request: HttpRequest, row: Any, form: DecisionForm) -> HttpResponse:
        """The text with its changes; it is claimed for a user who may decide, until that user leaves."""
        article = Article.objects.select_related("author", "channel", "update__draft").get(pk=row.pk)
        shown, older = for_review(article), last_approved(article)
        findings = findings_of(shown)
        barred, no_writer = refusal(REVIEW, request.user, article), approval_blocker(shown)
        if not barred:
            _open(request, article)
        subject, soft_lock = article.pending_update or article, _soft_lock_of(article)
        now = read_database_clock()
        own, progress = self._own_queue(request), ReviewProgress.of(article, revision=shown.number)
        context = {
            **self.admin_site.each_context(request),
            "title": shown.title,
            "opts": self.model._meta,
            "article": article,
            "row": row,
            "reason": beyond(subject.status_reason, findings),
            **_planned(article, now),
            "follow": _following(article, request, now).as_json(),
            "number": own.filter(since__lt=row.since).count() + 1 if own.filter(pk=row.pk).exists() else None,
            "waiting": own.count(),
            "progress": progress,
            "passed": _passed(article, shown, progress),
            "shown": shown,
            "lines": _other_lines(shown),
            "older": older,
            "fields": compare(older, shown) if older else [],
            "findings": findings,
            "claim": soft_lock,
            "is_mine": soft_lock and soft_lock.user_id == request.user.pk,
            "barred": barred,
            "no_writer": no_writer,
            "may_override": request.user.is_superuser and (barred or no_writer),
            "form": form,
            **notes_context(request, article, body=shown.body),
        }
        return TemplateResponse(request, "articles/desk/review.html", context)


def _planned(article: Article, now: datetime) -> dict[str, Any]:
    """When it goes live once it is approved, and whether that is past."""
    planned = article.update.publish_at if article.pending_update else article.goes_live_at
    return {"planned": planned, "is_past": planned is not None and planned <= now}


def _following(article: Article, request: HttpRequest, now: datetime, *, is_decided: bool = False) -> Following:
    """When the open page asks again, and for what."""
    shown = _planned(article, now)
    return Following(
        url=request.path,
        version=version_of(is_decided, *shown.values()),
        next=next_change(now, [shown["planned"]]),
        poll=POLL,
        happened={"decided": _("This article no longer needs review.")} if is_decided else {},
    )


def _refuse_unconfirmed(request: HttpRequest, article: Article) -> None:
    """Raise `Unconfirmed` if an approval shows readers something at once, unless it is confirmed.

    Its time may have passed since the page was shown.
    """
    button = next((name for name in ("approve", "override") if name in request.POST), None)
    if button is None or request.POST[button] == CONFIRMED:
        return
    if button == "approve" and not ReviewProgress.of(article).is_last:
        return
    now, update = read_database_clock(), article.pending_update
    planned = _planned(article, now)["planned"]
    is_over = article.unpublish_at is not None and article.unpublish_at <= now
    if planned is not None and planned <= now and not is_over:
        effect = (
            _("The update replaces the live text immediately.") if update else _("Readers will see it immediately.")
        )
        raise publishing.Unconfirmed([_past(planned), effect], typed=False)


def _past(planned: datetime) -> str:
    return _("Its time, %(time)s, is past.") % {"time": format_time_exactly(planned)}


def _question(request: HttpRequest, article: Article, asked: publishing.Unconfirmed) -> HttpResponse:
    """The confirmation page, which posts the decision again."""
    button = "override" if "override" in request.POST else "approve"
    context = {
        **admin.site.each_context(request),
        "opts": QueuedArticle._meta,
        "title": TRANSITIONS[Transition.APPROVE].label,
        "article": article,
        "consequences": asked.consequences,
        "button": button,
        "confirmed": CONFIRMED,
        "sent": [(name, value) for name, value in request.POST.items() if name not in (button, "csrfmiddlewaretoken")],
        "back": reverse("admin:articles_queuedarticle_change", args=[article.pk]),
    }
    return TemplateResponse(request, "articles/desk/confirm.html", context)


def _decide(request: HttpRequest, article: Article, form: DecisionForm) -> None:
    by, read = request.user, form.cleaned_data["revision"]
    if "override" in request.POST:
        publishing.approve(article, by=by, revision=read, override=form.cleaned_data["override_reason"])
    elif "approve" in request.POST:
        publishing.approve(article, by=by, revision=read, stage=form.cleaned_data["stage"])
    elif "reject" in request.POST:
        publishing.reject(article, by=by, reason=form.cleaned_data["reason"], revision=read)
    elif _soft_lock_of(article, by):
        publishing.release_soft_lock(article, by=by)


def _soft_lock_of(article: Article, by: Actor | None = None) -> SoftLock | None:
    """The current claim; with `by`, only that user's."""
    soft_lock = SoftLock.objects.select_related("user").filter(article=article).first()
    if soft_lock is None or not soft_lock.counts_at(read_database_clock()):
        return None
    return soft_lock if by is None or soft_lock.user_id == by.pk else None


def _open(request: HttpRequest, article: Article) -> None:
    """Claim it until the page is left, unless another user has claimed it; not for a browser that only looks ahead."""
    if "prefetch" not in request.headers.get("Sec-Purpose", ""):
        with suppress(ArticleError):
            publishing.soft_lock(Article(pk=article.pk), by=request.user, until_left=True)


def _leave(request: HttpRequest, pk: str | None) -> HttpResponse:
    """Unclaim what was claimed by opening the page; sent by its script when it is left."""
    since = instant(request.POST["leave"]) if number_or_zero(pk) else None
    if since is not None:
        with suppress(ArticleError):
            publishing.leave_review(Article(pk=number_or_zero(pk)), by=request.user, since=since)
    return HttpResponse(status=204)


def _other_lines(shown: Revision) -> list[tuple[Any, str]]:
    """The one-line texts besides headline and summary, each with its label."""
    lines = {name: line for name, line in shown.text.lines.items() if line and name not in ("title", "summary")}
    return [(Revision._meta.get_field(name).verbose_name, line) for name, line in lines.items()]  # type: ignore[union-attr]


def _passed(article: Article, shown: Revision, progress: ReviewProgress) -> list[tuple[Any, StageApproval]]:
    """The stages that have approved the revision, each with its approval."""
    found = StageApproval.objects.filter(article=article, revision=shown.number).select_related("user")
    approvals = {approval.stage: approval for approval in found}
    return [(stage.label, approvals[stage.kind]) for stage in progress.stages if stage.kind in approvals]
