"""Review stages: the form in which they are chosen, and the tabs of the review queue."""

from __future__ import annotations

import json
from typing import Any, cast

from django import forms
from django.contrib.auth.models import Group
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from articles.exceptions import ArticleError
from articles.limits import STAGE_NAME_LENGTH
from articles.models import ReviewStage
from articles.review import StageChoice, check_stages, reviewing_groups

Kind = ReviewStage.Kind


class StageForm(forms.Form):
    """One stage; a row without a kind is not used."""

    kind = forms.ChoiceField(
        label=_("Stage"),
        choices=[("", "—"), *Kind.choices],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )
    name = forms.CharField(
        label=_("Own name"),
        required=False,
        max_length=STAGE_NAME_LENGTH,
        widget=UnfoldAdminTextInputWidget({"size": 20}),
    )
    group = forms.ModelChoiceField(
        Group.objects.none(),
        label=_("Who approves"),
        required=False,
        empty_label=_("All users who may approve"),
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        chosen = ReviewStage.objects.filter(group__isnull=False).values("group")  # perhaps without the permission now
        groups = Group.objects.filter(Q(pk__in=reviewing_groups()) | Q(pk__in=chosen))
        field: Any = self.fields["group"]
        field.queryset = groups.order_by("name")
        field.label_from_instance = lambda group: gettext(group.name)  # the roles are groups with known names

    def choice(self) -> StageChoice | None:
        """The stage; None for an unused row."""
        values = self.cleaned_data
        return StageChoice(values["kind"], values["name"], values["group"]) if values.get("kind") else None


class BaseStageFormSet(forms.BaseFormSet[StageForm]):
    """As many rows as there are kinds of stages, in their order."""

    @property
    def opened(self) -> str:
        """The present stages, with which the form is opened."""
        return json.dumps([[stage.kind, stage.name, stage.group_id] for stage in ReviewStage.in_order()])

    def clean(self) -> None:
        """Refuse stages that cannot be used together, and to replace what another user has chosen since."""
        if self.data.get("opened", self.opened) != self.opened:
            stages = gettext(", ").join(map(str, ReviewStage.in_order()))
            text = gettext("Another user has changed the stages: %(stages)s. Check them, and save again.")
            raise forms.ValidationError(text % {"stages": stages}, code="conflict")
        if not any(self.errors):
            try:
                check_stages(self.choices())
            except ArticleError as refusal:
                raise forms.ValidationError(str(refusal)) from refusal

    def choices(self) -> list[StageChoice]:
        """The chosen stages."""
        return [choice for form in self.forms if (choice := form.choice())]


StageFormSet = forms.formset_factory(
    StageForm, formset=BaseStageFormSet, extra=len(Kind), max_num=len(Kind), absolute_max=len(Kind)
)


def stages_form(posted: Any = None) -> BaseStageFormSet:
    """The form as it was sent, or with the present stages."""
    present = [{"kind": stage.kind, "name": stage.name, "group": stage.group_id} for stage in ReviewStage.in_order()]
    return cast(BaseStageFormSet, StageFormSet(posted, initial=None if posted else present, prefix="stage"))
