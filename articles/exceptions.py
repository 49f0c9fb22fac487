"""Everything the newsroom refuses on purpose: each error has a `code` for programs and a `message` for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

MOST_LISTED = 5


def listed(names: Sequence[str]) -> str:
    """A few names in quotation marks, for a sentence."""
    # Translators: between the names of a list
    shown = gettext(", ").join(f"“{name}”" for name in names[:MOST_LISTED])
    return f"{shown} …" if len(names) > MOST_LISTED else shown


class ArticleError(Exception):
    """The newsroom could not do what was asked."""

    code = "article_error"
    message: str | Promise = _("This could not be done.")

    def __init__(self, message: str | Promise = "") -> None:
        if message:
            self.message = message
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class ArticleGone(ArticleError):
    """The article was deleted meanwhile."""

    code = "gone"
    message = _("The article has been deleted.")


class NotAllowed(ArticleError):
    """The person lacks the permission."""

    code = "not_allowed"
    message = _("You do not have permission to do this.")


class WrongState(ArticleError):
    """The article's status does not allow the step."""

    code = "wrong_state"
    message = _("The article's status does not allow this.")


class BelongsToRelease(WrongState):
    """A release keeps this step for itself until it goes out."""

    code = "belongs_to_release"
    message = _("The article belongs to a release; take it out of that first.")


class ReleaseGone(ArticleGone):
    """The release was deleted meanwhile."""

    message = _("The release has been deleted.")


class NotAMember(ArticleGone):
    """The article is not in the release."""

    code = "not_a_member"
    message = _("The article is not in this release.")


class ReleaseNotReady(WrongState):
    """Something stands in the way of a release: the message names each article and what is wrong with it."""

    code = "release_not_ready"
    message = _("The release cannot go out.")


class InvalidSchedule(ArticleError):
    """The time cannot be used."""

    code = "invalid_schedule"
    message = _("An article cannot be scheduled for this time.")


class ReasonMissing(ArticleError):
    """A refusal needs a reason."""

    code = "reason_missing"
    message = _("Say why the article is refused.")


class LockedByAnother(ArticleError):
    """Another reviewer is on the article."""

    code = "soft_locked"
    message = _("Another reviewer is on this article.")


class EditConflict(ArticleError):
    """Somebody else saved the article since this editor opened it."""

    code = "stale"
    message = _("Somebody else has changed the article since you opened it.")

    def __init__(self, changes: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.changes = changes or {}  #: what was not saved


class RevisionChanged(ArticleError):
    """The revision that was read is not the newest any more."""

    code = "revision_changed"
    message = _("This has been changed since you read it: read the newest revision before you decide.")


class RevisionMissing(ArticleError):
    """An approval is about a revision that somebody read."""

    code = "revision_missing"
    message = _("Say which revision you read: only that is approved.")


class ChangedSince(ArticleError):
    """Somebody, or the clock, has changed the article since."""

    code = "changed_since"
    message = _("The article has been changed since.")


class TooMany(ArticleError):
    """More articles than one step takes at once."""

    code = "too_many"
    message = _("These are too many articles at once.")


class TimePast(InvalidSchedule):
    """Something was moved to a time that is past."""

    code = "past"
    message = _("This time is past; nothing was moved.")


class NotRescheduled(ArticleError):
    """Some of the articles that were to be moved cannot be; `problems` says why, by id."""

    code = "not_moved"

    def __init__(self, problems: Mapping[int, str], *, code: str = code) -> None:
        shown = " ".join(list(problems.values())[:MOST_LISTED])
        super().__init__(f"{shown} …" if len(problems) > MOST_LISTED else shown)
        self.problems, self.code = problems, code


class UnknownCheckpoint(ArticleError):
    """The change feed has not got so far; it was written anew since, or restored from a backup."""

    code = "unknown_checkpoint"
    message = _("There is no such checkpoint any more; begin again with an early time, such as 2000-01-01T00:00:00Z.")


class RescheduledByOther(ArticleError):
    """Somebody rescheduled it after this editor loaded the screen."""

    code = "rescheduled"
    message = _("Somebody has moved it meanwhile.")


class UnderEmbargo(InvalidSchedule):
    """Nobody puts an article out, or schedules it for a time, before its embargo ends."""

    code = "under_embargo"
    message = _("The article is under embargo; lift the embargo first.")


class RetractionNoticeMissing(ArticleError):
    """A kill needs a notice."""

    code = "notice_missing"
    message = _("Say what readers are told instead of the article.")


class TooLong(ArticleError):
    """The text is longer than an article can be."""

    code = "too_long"
    message = _("The text is too long.")


class RevisionGone(ArticleError):
    """The article has no such revision."""

    code = "no_such_revision"
    message = _("The article has no such revision.")


class NotEditable(ArticleError):
    """The field is not one that editors change."""

    code = "not_editable"
    message = _("This cannot be edited.")


class InvalidImageFile(ArticleError):
    """The file is not a picture that can be taken."""

    code = "no_picture"
    message = _("The file is no picture that can be read.")


class NotStored(ArticleError):
    """The storage took nothing."""

    code = "not_stored"
    message = _("The picture could not be stored; nothing of it was kept. Try again, or tell an administrator.")


class ImageGone(ArticleError):
    """The picture was deleted meanwhile."""

    code = "picture_gone"
    message = _("The picture has been deleted.")


class ImageInUse(ArticleError):
    """Articles show the picture."""

    code = "picture_used"

    def __init__(self, titles: Sequence[str]) -> None:
        """Without titles to who may not see those articles."""
        text = _("The picture is used in %(titles)s; take it out there first.") % {"titles": listed(titles)}
        super().__init__(text if titles else _("The picture is used in articles that you may not see."))
        self.titles = titles


class UnknownImage(ArticleError):
    """A text refers to pictures that do not exist."""

    code = "unknown_picture"

    def __init__(self, ids: Sequence[str]) -> None:
        text = _("There is no such picture, or it has been deleted: %(ids)s. Choose another or take it out.")
        super().__init__(text % {"ids": listed(ids)})


class AltMissing(ArticleError):
    """A picture without a description cannot be used."""

    code = "alt_missing"

    def __init__(self, titles: Sequence[str]) -> None:
        text = _("Describe what is to be seen before the picture is used: %(titles)s.")
        super().__init__(text % {"titles": listed(titles)})


class WrongCover(ArticleError):
    """The pictures of a cover are not as many as its mode says."""

    code = "wrong_cover"
    message = _("The cover has another number of pictures than its mode says.")


class InvalidImage(ArticleError):
    """What is said about a picture cannot be kept."""

    code = "wrong_picture"
    message = _("This cannot be said about a picture.")
