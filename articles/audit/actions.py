"""The actions of the audit log: what is stored, and what users read."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.workflow import RELEASE_TRANSITIONS, TRANSITIONS, ReleaseTransition, Transition


class Action(TextChoices):
    """The actions that are not transitions; a transition has its name and label in `articles.workflow`."""

    CREATE = "create", _("Created")
    EDIT = "edit", _("Edited")
    SAVE = "save", _("Saved by the system")
    DELETE = "delete", _("Deleted")
    IMPORT = "import", _("Imported")
    PUBLISHED = "published", _("Went live")
    UNPUBLISHED = "unpublished", _("Unpublished on schedule")
    UPDATED = "updated", _("Update published")
    REVIEWED = "reviewed", _("Automatic review")  # the end of one in the background
    PASSED_STAGE = "passed_stage", _("Review stage passed")  # one that is not the last
    PULLED_BACK = "pulled_back", _("Approval revoked")  # by changed sensitive words
    UNDONE = "undone", _("Undone")
    PREVIEW_LINK = "preview_link", _("Preview link created")
    PREVIEW_REVOKED = "preview_revoked", _("Preview link revoked")
    SHARE_PAGE = "share_page", _("Page shared")
    UNSHARE_PAGE = "unshare_page", _("Page no longer shared")
    UPLOAD = "upload", _("Image uploaded")
    CHANGE_IMAGE = "change_image", _("Image changed")
    DELETE_IMAGE = "delete_image", _("Image deleted")
    ADD_WORDS = "add_words", _("Sensitive words added")
    CHANGE_WORDS = "change_words", _("Sensitive words changed")
    DELETE_WORDS = "delete_words", _("Sensitive words deleted")
    LOGGED_IN = "logged_in", _("Logged in")
    LOG_IN_FAILED = "log_in_failed", _("Log-in failed")
    LOCKED_OUT = "locked_out", _("Log-in locked")
    SIGN_IN_LINK = "sign_in_link", _("One-time sign-in link created")
    END_SESSIONS = "end_sessions", _("Sessions ended")
    ADD_SECOND_FACTOR = "add_second_factor", _("Second factor added")
    REMOVE_SECOND_FACTOR = "remove_second_factor", _("Second factor removed")
    NEW_RECOVERY_CODES = "new_recovery_codes", _("Recovery codes created")
    LINK_IDENTITY = "link_identity", _("Single sign-on linked")
    UNLINK_IDENTITY = "unlink_identity", _("Single sign-on unlinked")
    ADD_USER = "add_user", _("User added")
    INVITE_USER = "invite_user", _("Invitation sent")
    CHANGE_USER = "change_user", _("User changed")
    DELETE_USER = "delete_user", _("User deleted")
    CHANGE_PASSWORD = "change_password", _("Password changed")  # noqa: S105 (no password)
    ADD_GROUP = "add_group", _("Group added")
    CHANGE_GROUP = "change_group", _("Group changed")
    DELETE_GROUP = "delete_group", _("Group deleted")
    ADD_TOKEN = "add_token", _("API token added")  # noqa: S105 (no token)
    REVOKE_TOKEN = "revoke_token", _("API token revoked")  # noqa: S105 (no token)
    CHANGE_REVIEW_POLICY = "change_review_policy", _("Review policy changed")
    ADD_NOTE = "add_note", _("Note added")
    REPLY = "reply", _("Reply to a note")
    EDIT_NOTE = "edit_note", _("Note edited")
    DELETE_NOTE = "delete_note", _("Note deleted")
    RESOLVE_NOTE = "resolve_note", _("Note resolved")
    REOPEN_NOTE = "reopen_note", _("Note reopened")
    ASSIGN = "assign", _("Assigned")
    KEEP_BYLINE = "keep_byline", _("Author’s name kept as byline")
    CHANGE_REVIEW_STAGES = "change_review_stages", _("Review stages changed")
    PROPOSE_CHANGE = "propose_change", _("Change proposed")
    APPROVE_CHANGE = "approve_change", _("Proposed change approved")
    REJECT_CHANGE = "reject_change", _("Proposed change rejected")
    RENAME_TAG = "rename_tag", _("Tag renamed")
    DELETE_TAG = "delete_tag", _("Tag deleted")
    SET_ALERT = "set_alert", _("Breaking alert set")
    DELETE_ALERT = "delete_alert", _("Breaking alert deleted")
    PUSH_ALERT = "push_alert", _("Breaking alert pushed")
    ADD_WEBHOOK = "add_webhook", _("Webhook added")
    CHANGE_WEBHOOK = "change_webhook", _("Webhook changed")
    DELETE_WEBHOOK = "delete_webhook", _("Webhook deleted")
    ROTATE_WEBHOOK_SECRET = "rotate_webhook_secret", _("Webhook secret rotated")  # noqa: S105 (no secret)
    TEST_WEBHOOK = "test_webhook", _("Webhook tested")
    REPLAY_WEBHOOK = "replay_webhook", _("Webhook events sent again")
    START_FRONT = "start_front", _("Draft of a front started")
    EDIT_FRONT = "edit_front", _("Front edited")
    SCHEDULE_FRONT = "schedule_front", _("Front scheduled")
    PUBLISH_FRONT = "publish_front", _("Front published")
    UNSCHEDULE_FRONT = "unschedule_front", _("Front unscheduled")
    SKIP_FRONT = "skip_front", _("Recurring front skipped once")
    UNSKIP_FRONT = "unskip_front", _("Recurring front no longer skipped")
    END_FRONT = "end_front", _("Recurring front ended")
    DELETE_FRONT = "delete_front", _("Draft of a front deleted")
    ADD_FRONT = "add_front", _("Front added to a release")
    REMOVE_FRONT = "remove_front", _("Front removed from a release")
    ROLL_BACK_FRONT = "roll_back_front", _("Front rolled back")
    CREATE_RELEASE = "create_release", _("Release created")
    JOINED_RELEASE = "joined_release", _("Added to a release")
    LEFT_RELEASE = "left_release", _("Removed from a release")
    RELEASED = "released", _("Release published")
    RELEASE_FAILED = "release_failed", _("Release failed")
    TAKEN_BACK = "taken_back", _("Rolled back with its release")


ACTION_LABELS: Mapping[str, str | Promise] = {
    **dict(Action.choices),
    **{transition.value: TRANSITIONS[transition].label for transition in Transition},
    **{transition.value: RELEASE_TRANSITIONS[transition].label for transition in ReleaseTransition},
}
"""Labels by the names that entries store."""

ANNOTATING = frozenset(
    {
        Action.ADD_NOTE, Action.REPLY, Action.EDIT_NOTE, Action.DELETE_NOTE, Action.RESOLVE_NOTE, Action.REOPEN_NOTE,
        Action.ASSIGN, Action.SET_ALERT, Action.DELETE_ALERT, Action.PUSH_ALERT,
    }
)  # fmt: skip
"""The actions that change neither the text nor the state of an article."""


def label_of(action: str) -> str:
    """The label of an action in an entry; one that this version does not know is shown as it is stored."""
    return str(ACTION_LABELS.get(action, action))
