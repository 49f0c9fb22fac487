"""Automatic approval: the form of the review policy."""

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
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminRadioSelectWidget

from articles.models import ReviewPolicy
from articles.review import choose_policy


class PolicyForm(forms.Form):
    """The three choices."""

    machine = forms.ChoiceField(
        label=_("Who approves texts with no automatic findings"),
        choices=ReviewPolicy.Machine.choices,
        widget=UnfoldAdminRadioSelectWidget,
    )


@admin.register(ReviewPolicy)
class ReviewPolicyAdmin(ModelAdmin):
    """One form instead of a list: there is one policy."""

    def get_urls(self) -> list[URLPattern]:
        """The form."""
        return [path("", self.admin_site.admin_view(self.choose), name="articles_reviewpolicy_changelist")]

    def choose(self, request: HttpRequest) -> HttpResponse:
        """Show and save the policy."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        may_choose = self.has_change_permission(request)
        form = PolicyForm(request.POST or None, initial={"machine": _stored()})
        if request.method == "POST" and form.is_valid():
            if not may_choose:
                raise PermissionDenied
            choose_policy(form.cleaned_data["machine"], by=request.user)
            self.message_user(request, gettext("Active from now on: %s.") % who_approves(), messages.SUCCESS)
            return redirect("admin:articles_reviewpolicy_changelist")
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": gettext("Review policy"),
            "form": form,
            "opts": self.model._meta,
            "may_choose": may_choose,
            "who_approves": who_approves(),
            "two_persons": settings.ARTICLES_TWO_PERSON_RULE,
        }
        return TemplateResponse(request, "articles/desk/policy.html", context)


def who_approves() -> str:
    """The current policy in a sentence."""
    return str(ReviewPolicy.chosen().label)


def _stored() -> str:
    policy = ReviewPolicy.objects.filter(pk=ReviewPolicy.ROW).first()
    return policy.machine if policy else ReviewPolicy.Machine.NEVER
