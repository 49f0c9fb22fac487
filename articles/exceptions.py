"""Errors that users can cause: each has a `code` for programs and a `message` for users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import ceil
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _, ngettext

MOST_LISTED = 5


def listed(names: Sequence[str]) -> str:
    """The first names in quotation marks, for a sentence."""
    # Translators: between the names of a list
    shown = gettext(", ").join(f"“{name}”" for name in names[:MOST_LISTED])
    return f"{shown} …" if len(names) > MOST_LISTED else shown


class ArticleError(Exception):
    """The request could not be fulfilled."""

    retry_after: int | None = None  #: seconds after which the same request may succeed
    code = "article_error"
    message: str | Promise = _("This could not be done.")

    def __init__(self, message: str | Promise = "") -> None:
        if message:
            self.message = message
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class Gone(ArticleError):
    """What is to be changed was deleted in the meantime."""

    code = "gone"
    message = _("It does not exist any more.")


class ArticleGone(Gone):
    """The article was deleted in the meantime."""

    message = _("The article has been deleted.")


class NotAllowed(ArticleError):
    """The user lacks the permission."""

    code = "not_allowed"
    message = _("You do not have permission to do this.")


class WrongState(ArticleError):
    """The article's status does not allow the transition."""

    code = "wrong_state"
    message = _("The article's status does not allow this.")


class BelongsToRelease(WrongState):
    """The transition is refused for members of a pending release."""

    code = "belongs_to_release"
    message = _("The article belongs to a release; remove it from the release first.")


class ReleaseGone(ArticleGone):
    """The release was deleted in the meantime."""

    message = _("The release has been deleted.")


class NotAMember(ArticleGone):
    """The article is not in the release."""

    code = "not_a_member"
    message = _("The article is not in this release.")


class ReleaseNotReady(WrongState):
    """A release has blocking issues: the message names each article and its issue."""

    code = "release_not_ready"
    message = _("The release cannot be published.")


class InvalidSchedule(ArticleError):
    """The time cannot be used."""

    code = "invalid_schedule"
    message = _("An article cannot be scheduled for this time.")


class MissingTime(InvalidSchedule):
    """The wall time does not exist on a day of a rule, which does not say what to do then."""

    code = "missing_time"


class DoubleTime(InvalidSchedule):
    """The wall time exists twice on a day of a rule, which does not say which one is meant."""

    code = "double_time"


class ReasonMissing(ArticleError):
    """A rejection needs a reason."""

    code = "reason_missing"
    message = _("Enter feedback to the author: why the article is rejected.")


class LockedByAnother(ArticleError):
    """Another reviewer has claimed the article."""

    code = "soft_locked"
    message = _("Another reviewer has claimed this article.")


class EditConflict(ArticleError):
    """The article was saved, by another user or in another window, after this editor had opened it."""

    code = "edit_conflict"
    message = _("The article has been changed since you opened it.")

    def __init__(self, changes: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.changes = changes or {}  #: that were not saved


class RevisionChanged(ArticleError):
    """The revision that was read is not the newest any more."""

    code = "revision_changed"
    message = _("This has been changed since you read it: read the newest revision before you decide.")


class StageChanged(RevisionChanged):
    """The text waits at another review stage than the one that was shown."""

    code = "stage_changed"
    message = _("The text waits at another review stage now.")


class RevisionMissing(ArticleError):
    """An approval must name the revision that was read."""

    code = "revision_missing"
    message = _("Say which revision you read: only that is approved.")


class ChangedSince(ArticleError):
    """The article has been changed since."""

    code = "changed_since"
    message = _("The article has been changed since.")


class TooMany(ArticleError):
    """More articles than a bulk action, or more notes than an article can have."""

    code = "too_many"
    message = _("These are too many articles at once.")


class TimePast(InvalidSchedule):
    """The new time is past."""

    code = "past"
    message = _("This time is past; nothing was rescheduled.")


class NotRescheduled(ArticleError):
    """Some articles cannot be rescheduled; `problems` gives the reason, by id."""

    code = "not_rescheduled"

    def __init__(self, problems: Mapping[int, str], *, code: str = code) -> None:
        shown = " ".join(list(problems.values())[:MOST_LISTED])
        super().__init__(f"{shown} …" if len(problems) > MOST_LISTED else shown)
        self.problems, self.code = problems, code


class UnknownCheckpoint(ArticleError):
    """The checkpoint is beyond the end of the change feed or of another epoch: it was rebuilt or restored."""

    code = "unknown_checkpoint"
    message = _("There is no such checkpoint any more; begin again with an early time, such as 2000-01-01T00:00:00Z.")


class RescheduledByOther(ArticleError):
    """Another user rescheduled it after this editor had loaded the page."""

    code = "rescheduled"
    message = _("Another user has rescheduled it in the meantime.")


class UnderEmbargo(InvalidSchedule):
    """The time is before the end of the article's embargo."""

    code = "under_embargo"
    message = _("The article is under embargo; lift the embargo first.")


class RetractionNoticeMissing(ArticleError):
    """A retraction needs a notice."""

    code = "notice_missing"
    message = _("Enter the retraction notice that readers see instead of the article.")


class ForeignMedia(ArticleError):
    """A text shows an image, sound or video that another host could change after the approval."""

    code = "foreign_media"
    message = _("The text shows media of another site. Upload them, or link to them.")


class SensitiveText(ArticleError):
    """A text that readers see without a review contains a sensitive word."""

    code = "sensitive_words"
    message = _("This text contains a sensitive word.")


class ChangeGone(Gone):
    """A proposed change has been decided, or its object deleted."""

    code = "change_gone"
    message = _("This change has been decided already, or what it changes has been deleted.")


class ChangeAltered(ArticleError):
    """A proposed change, or its object, is not as it was shown."""

    code = "change_altered"
    message = _("It has changed since it was shown to you; read it again.")


class TooLong(ArticleError):
    """The text is longer than an article can be."""

    code = "too_long"
    message = _("The text is too long.")


class RevisionGone(Gone):
    """The article has no such revision."""

    code = "no_such_revision"
    message = _("The article has no such revision.")


class NotEditable(ArticleError):
    """The field is not editable."""

    code = "not_editable"
    message = _("This cannot be edited.")


class NoteGone(Gone):
    """The note was deleted in the meantime."""

    code = "note_gone"
    message = _("The note has been deleted.")


class NoteEmpty(ArticleError):
    """A note needs text."""

    code = "note_empty"
    message = _("Write something first.")


class NoteChanged(ArticleError):
    """The note was edited after this editor had loaded it."""

    code = "note_changed"
    message = _("You have edited this note in another window. Load the page again and compare.")


class WithoutAccess(ArticleError):
    """Users who may not see articles cannot be mentioned or own one."""

    code = "without_access"

    def __init__(self, names: Sequence[str]) -> None:
        text = _("%(names)s may not see this article. Remove the name, or ask an administrator to give access.")
        super().__init__(text % {"names": listed(names)})
        self.names = names


class InvalidImageFile(ArticleError):
    """The file is not a supported image."""

    code = "invalid_image_file"
    message = _("The file is not an image that can be read.")


class NotStored(ArticleError):
    """The storage failed."""

    code = "not_stored"
    message = _("The image could not be stored. Try again, or contact an administrator.")


class DecodingBusy(ArticleError):
    """As many images are being decoded as the host can take."""

    code = "busy"
    message = _("Several images are being processed at the moment; try again in a few seconds.")
    retry_after = 5  # seconds


class PixelsUsedUp(ArticleError):
    """The user has uploaded as many pixels as are processed in an hour."""

    code = "too_many_pixels"

    def __init__(self, wait: timedelta) -> None:
        minutes = ceil(wait / timedelta(minutes=1))
        text = ngettext(
            "You have uploaded very many large images; the next can follow in %(minutes)d minute.",
            "You have uploaded very many large images; the next can follow in %(minutes)d minutes.",
            minutes,
        )
        super().__init__(text % {"minutes": minutes})
        self.retry_after = ceil(wait.total_seconds())


class ImageGone(Gone):
    """The image was deleted in the meantime."""

    code = "image_gone"
    message = _("The image has been deleted.")


class ImageInUse(ArticleError):
    """Articles use the image."""

    code = "image_in_use"

    def __init__(self, titles: Sequence[str]) -> None:
        """Without titles if the user may not see those articles."""
        text = _("The image is used in %(titles)s; remove it there first.") % {"titles": listed(titles)}
        super().__init__(text if titles else _("The image is used in articles that you may not see."))
        self.titles = titles


class InUse(ArticleError):
    """What still refers to it keeps it from being deleted."""

    code = "in_use"


class AlertTaken(ArticleError):
    """The article has a breaking alert already."""

    code = "alert_taken"
    message = _("This article has a breaking alert already. Open it again to change it.")


class AlertChanged(ArticleError):
    """The breaking alert was deleted since, or replaced by another."""

    code = "alert_changed"
    message = _("The breaking alert has been deleted in the meantime.")


class FrontGone(ArticleGone):
    """The front or its version was deleted in the meantime."""

    message = _("This version of the front has been deleted.")


class FrontLive(WrongState):
    """A version that readers get, or got, is never changed."""

    code = "front_live"
    message = _("This version of the front is live, so it stays as it is. Start a draft from it.")


class FrontInstantTaken(WrongState):
    """Another version of the front goes live at the same instant."""

    code = "front_instant_taken"
    message = _("Another version of this front goes live at the same time.")


class FrontConflict(EditConflict):
    """What is to be changed on a front has been changed by another since: `conflicts` shows both sides."""

    code = "front_conflict"
    message = _("Another person has changed the same part of the front. Nothing of yours is stored yet.")

    def __init__(self, conflicts: Sequence[Any]) -> None:
        super().__init__()
        self.message = FrontConflict.message
        self.conflicts = conflicts


class UnknownImage(ArticleError):
    """A text refers to images that do not exist."""

    code = "unknown_image"

    def __init__(self, ids: Sequence[str]) -> None:
        text = _("There is no such image, or it has been deleted: %(ids)s. Choose another or remove it.")
        super().__init__(text % {"ids": listed(ids)})


class AltMissing(ArticleError):
    """An image without alt text cannot be used."""

    code = "alt_missing"

    def __init__(self, titles: Sequence[str]) -> None:
        text = _("Enter alt text before the image is used: %(titles)s.")
        super().__init__(text % {"titles": listed(titles)})


class WrongCover(ArticleError):
    """The number of images does not match the cover's mode."""

    code = "wrong_cover"
    message = _("The number of images does not match the cover’s mode.")


class InvalidImage(ArticleError):
    """The values given for an image are invalid."""

    code = "invalid_image"
    message = _("These values are not valid for an image.")
