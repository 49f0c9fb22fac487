"""Forms of the release admin."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from articles.desk.time_field import ZonedTimeField
from articles.limits import RELEASE_NAME_LENGTH
from articles.models import Release, ReleaseMember

FITTING = ("", _("Automatic: publish the article, or publish its update"))


class ReleaseNameForm(forms.Form):
    """Name of a release."""

    name = forms.CharField(
        label=_("Name"),
        max_length=RELEASE_NAME_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("For the newsroom only, such as “Budget day, 11 o’clock”."),
    )


class TimeForm(forms.Form):
    """Publish time of a release."""

    publish_at = ZonedTimeField(label=_("Goes live at"), help_text=_("All its articles go live at this time."))


class JoinForm(forms.Form):
    """The release to add articles to, and their action."""

    release = forms.ModelChoiceField(
        label=_("Release"),
        queryset=Release.objects.pending().order_by("-updated_at"),
        required=False,
        empty_label=_("New release"),
        widget=UnfoldAdminSelectWidget,
    )
    name = forms.CharField(
        label=_("Name of the new release"),
        max_length=RELEASE_NAME_LENGTH,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    what = forms.ChoiceField(
        label=_("Action for these articles"),
        choices=[FITTING, (ReleaseMember.Action.UNPUBLISH, ReleaseMember.Action.UNPUBLISH.label)],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def clean(self) -> None:
        """Require a name for a new release."""
        super().clean()
        if not self.cleaned_data.get("release") and not self.cleaned_data.get("name", "").strip():
            self.add_error("name", _("Choose a release, or name a new one."))
