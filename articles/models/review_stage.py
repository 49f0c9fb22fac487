"""Review stages: who approves a text and in which order, and which stages a revision has passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Case, Exists, OuterRef, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from articles.limits import STAGE_NAME_LENGTH
from articles.models.article import Article

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_NUMBER = Coalesce(OuterRef("update__draft__number"), OuterRef("revision"))


class ReviewStage(models.Model):
    """A stage that every text passes before it is approved. Without rows there is one, for every reviewer."""

    class Kind(models.TextChoices):
        """The stages that there may be, with their default names."""

        FIRST = "first", pgettext_lazy("review stage", "First review")
        SECOND = "second", pgettext_lazy("review stage", "Second review")
        FINAL = "final", pgettext_lazy("review stage", "Final review")
        PROOFREADING = "proofreading", pgettext_lazy("review stage", "Proofreading")

    kind = models.CharField(_("stage"), max_length=12, choices=Kind.choices, primary_key=True)
    position = models.PositiveSmallIntegerField(_("position"), default=1)
    name = models.CharField(_("name"), max_length=STAGE_NAME_LENGTH, blank=True)
    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("who approves")
    )

    class Meta:
        ordering = ["position"]
        verbose_name = _("review stage")
        verbose_name_plural = _("review stages")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.label)

    @classmethod
    def in_order(cls) -> list[ReviewStage]:
        """The stages in their order; at least one."""
        return list(cls.objects.select_related("group")) or [cls(kind=cls.Kind.FIRST)]

    @property
    def label(self) -> StrOrPromise:
        """The chosen name, or the default one in the language of the user."""
        return self.name or self.Kind(self.kind).label


class StageApproval(models.Model):
    """The approval of a revision at one stage, after which it waits at the next.

    The approval at the last stage approves the article, and has no row.
    """

    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="stage_approvals")
    revision = models.PositiveIntegerField(help_text=_("Number of the revision."))
    stage = models.CharField(max_length=12, choices=ReviewStage.Kind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    approved_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["article", "revision", "stage"], name="one_approval_at_a_stage")]

    def __str__(self) -> str:
        return f"{self.article_id}: {self.revision} {self.stage}"


@dataclass(frozen=True)
class ReviewProgress:
    """The stages, and who has approved a revision at which; also at stages that were removed since."""

    stages: Sequence[ReviewStage]
    approvals: Mapping[str, int | None]

    @classmethod
    def of(cls, article: Article, *, revision: int | None = None, stages: Sequence[ReviewStage] | None = None) -> Self:
        """The progress of the text under review, or of the revision with this number; lists read the `stages` once."""
        number = number_under_review(article) if revision is None else revision
        approvals = {found.stage: found.user_id for found in article.stage_approvals.all() if found.revision == number}
        return cls(stages or ReviewStage.in_order(), approvals)

    @property
    def stage(self) -> ReviewStage:
        """The stage that the revision waits at: the first that has not approved it.

        The last one if all have: the stages were changed since, and that alone approves nothing.
        """
        return next((stage for stage in self.stages if stage.kind not in self.approvals), self.stages[-1])

    @property
    def number(self) -> int:
        """The number of this stage, from 1."""
        return self.stages.index(self.stage) + 1

    @property
    def is_last(self) -> bool:
        """Whether every other stage has approved it, so that an approval at this one approves the article."""
        return all(stage.kind in self.approvals for stage in self.stages if stage is not self.stage)

    @property
    def count(self) -> int:
        """The number of stages."""
        return len(self.stages)


def number_under_review(article: Article) -> int:
    """The number of the revision that is reviewed, or would be."""
    pending_update = article.pending_update
    draft = pending_update.draft if pending_update and pending_update.draft_id else None
    return draft.number if draft else article.revision


def approved_by(user_id: int | None) -> Exists:
    """Whether the user has approved the text under review of an article at a stage, in SQL."""
    return Exists(StageApproval.objects.filter(article=OuterRef("pk"), revision=_NUMBER, user=user_id))


def stage_under_review(stages: Sequence[ReviewStage]) -> Case:
    """The kind of the stage that an article waits at, in SQL; as `ReviewProgress.stage`."""
    passed = StageApproval.objects.filter(article=OuterRef("pk"), revision=_NUMBER)
    waits: list[Any] = [When(~Exists(passed.filter(stage=stage.kind)), then=Value(stage.kind)) for stage in stages]
    return Case(*waits, default=Value(stages[-1].kind), output_field=models.CharField())
