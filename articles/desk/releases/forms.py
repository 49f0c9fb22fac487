"""The forms of the release screens."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from articles.desk.time_field import ZonedTimeField
from articles.models import Release, ReleaseMember
from articles.releases import NAME_LENGTH

FITTING = ("", _("What fits: publish it, or put its newer text out"))


class NameForm(forms.Form):
    """What a release is called."""

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("For the newsroom alone, such as “Budget day, 11 o’clock”."),
    )


class TimeForm(forms.Form):
    """When all of it goes out."""

    publish_at = ZonedTimeField(label=_("Goes out at"), help_text=_("Everything in it goes live at this second."))


class JoinForm(forms.Form):
    """Into which release some articles come, and what happens to them."""

    release = forms.ModelChoiceField(
        label=_("Release"),
        queryset=Release.objects.pending().order_by("-updated_at"),
        required=False,
        empty_label=_("A new one"),
        widget=UnfoldAdminSelectWidget,
    )
    name = forms.CharField(
        label=_("Name of the new release"), max_length=NAME_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )
    what = forms.ChoiceField(
        label=_("What happens to them"),
        choices=[FITTING, (ReleaseMember.Action.UNPUBLISH, ReleaseMember.Action.UNPUBLISH.label)],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def clean(self) -> None:
        """A new release needs a name."""
        super().clean()
        if not self.cleaned_data.get("release") and not self.cleaned_data.get("name", "").strip():
            self.add_error("name", _("Choose a release, or give the new one a name."))
