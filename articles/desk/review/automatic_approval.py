"""The review policy: the review stages, and whether the automatic review approves."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminRadioSelectWidget

from articles.desk.review.stages import BaseStageFormSet, stages_form
from articles.models import ReviewPolicy, ReviewStage
from articles.review import choose_policy, choose_stages, lock_policy
from scheduling.database import retried


class PolicyForm(forms.Form):
    """The three choices, and the one that it was opened with: another user's choice stays if this one has made none."""

    machine = forms.ChoiceField(
        label=_("Who approves texts with no automatic findings"),
        choices=ReviewPolicy.Machine.choices,
        widget=UnfoldAdminRadioSelectWidget,
        show_hidden_initial=True,
    )

    def clean_machine(self) -> str:
        """The choice, or the stored one."""
        return str(self.cleaned_data["machine"] if "machine" in self.changed_data else _stored())


@admin.register(ReviewPolicy)
class ReviewPolicyAdmin(ModelAdmin):
    """Two forms instead of a list: there is one policy."""

    def get_urls(self) -> list[URLPattern]:
        """The forms."""
        return [path("", self.admin_site.admin_view(self.choose), name="articles_reviewpolicy_changelist")]

    def choose(self, request: HttpRequest) -> HttpResponse:
        """Show the policy, and save the form that was sent."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        may_choose = self.has_change_permission(request)
        if request.method == "POST" and not may_choose:
            raise PermissionDenied
        form, stages, said = retried(self._sent)(request) if request.method == "POST" else (*_forms(None), "")
        if said:
            self.message_user(request, said, messages.SUCCESS)
            return redirect("admin:articles_reviewpolicy_changelist")
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": gettext("Review policy"),
            "form": form,
            "stages": stages,
            "has_stages": ReviewStage.objects.count() > 1,
            "opts": self.model._meta,
            "may_choose": may_choose,
            "who_approves": who_approves(),
            "two_persons": settings.ARTICLES_TWO_PERSON_RULE,
        }
        return TemplateResponse(request, "articles/desk/policy.html", context)

    def _sent(self, request: HttpRequest) -> tuple[PolicyForm, BaseStageFormSet, str]:
        """The forms with what was sent, and what to say once that is saved; empty if it has errors."""
        # First, so that it is compared with what others have saved, who may be saving at this moment.
        lock_policy()
        form, stages = _forms(request.POST)
        said = ""
        if stages.is_bound and stages.is_valid():
            choose_stages(stages.choices(), by=request.user)
            said = gettext("The review stages are saved.")
        elif form.is_bound and form.is_valid():
            choose_policy(form.cleaned_data["machine"], by=request.user)
            said = gettext("Active from now on: %s.") % who_approves()
        return form, stages, said


def _forms(posted: Any) -> tuple[PolicyForm, BaseStageFormSet]:
    of_stages = posted and "stages" in posted
    form = PolicyForm(None if of_stages else posted, initial={"machine": _stored()})
    return form, stages_form(posted if of_stages else None)


def who_approves() -> str:
    """The current policy in a sentence."""
    return str(ReviewPolicy.chosen().label)


def _stored() -> str:
    policy = ReviewPolicy.objects.filter(pk=ReviewPolicy.ROW).first()
    return policy.machine if policy else ReviewPolicy.Machine.NEVER
