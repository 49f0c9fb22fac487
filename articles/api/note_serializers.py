"""Serializers of the newsroom's notes."""

from __future__ import annotations

from typing import Any

from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from articles.api.fields import InstantField
from articles.limits import CONTEXT_LENGTH, NOTE_LENGTH, QUOTE_LENGTH
from articles.models import Note
from articles.notes import Users, all_usernames, parts_of
from articles.text import SearchedText, Selector
from scheduling.api.strict import Strict


class NoteFilterSerializer(Strict):
    """Filters of an article's threads."""

    resolved = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text=_("Only resolved or only open threads.")
    )


class ReplySerializer(serializers.ModelSerializer[Note]):
    """A note of a thread."""

    author = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    mentions = serializers.SerializerMethodField(help_text=_("Usernames of the users it mentions."))
    created_at = InstantField(read_only=True)
    edited_at = InstantField(read_only=True, allow_null=True)

    class Meta:
        model = Note
        fields = ["id", "author", "text", "mentions", "created_at", "edited_at"]
        read_only_fields = fields

    def get_mentions(self, note: Note) -> list[str]:
        """In the order of the text."""
        parts = parts_of(note.text, self._users) if "@" in note.text else ()
        return list(dict.fromkeys(part.user for part in parts if part.user))

    @property
    def _users(self) -> Users:
        """Read once for all notes of a response."""
        context: Any = self.context
        if "users" not in context:
            context["users"] = all_usernames()
        users: Users = context["users"]
        return users


class ThreadSerializer(ReplySerializer):
    """A thread: its first note, and the replies."""

    passage = serializers.SerializerMethodField(
        help_text=_("The passage of the newest text that it is about; null if it is about the article or was deleted.")
    )
    resolved_at = InstantField(read_only=True, allow_null=True)
    resolved_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)
    replies = ReplySerializer(many=True, read_only=True)

    class Meta(ReplySerializer.Meta):
        fields = [
            *ReplySerializer.Meta.fields, "quote", "prefix", "suffix", "passage", "resolved_at", "resolved_by",
            "replies",
        ]  # fmt: skip
        read_only_fields = fields

    def get_passage(self, note: Note) -> str | None:
        """The passage as it is now."""
        found = self._searched.find(Selector(note.quote, note.prefix, note.suffix)) if note.quote else None
        return found.quote if found else None

    @cached_property
    def _searched(self) -> SearchedText:
        return SearchedText(self.context["body"])


class NewReplySerializer(Strict):
    """A reply."""

    text = serializers.CharField(
        max_length=NOTE_LENGTH, help_text=_("Plain text. `@` and a username mention and notify that user.")
    )


class NewNoteSerializer(NewReplySerializer):
    """A new thread."""

    quote = serializers.CharField(
        max_length=QUOTE_LENGTH, required=False, allow_blank=True, trim_whitespace=False, default="",
        help_text=_("The passage of the body that it is about, as plain text; left out, it is about the article."),
    )  # fmt: skip
    prefix = serializers.CharField(
        max_length=CONTEXT_LENGTH, required=False, allow_blank=True, trim_whitespace=False, default="",
        help_text=_("The text before the passage. With it, the passage is found again after edits."),
    )  # fmt: skip
    suffix = serializers.CharField(
        max_length=CONTEXT_LENGTH, required=False, allow_blank=True, trim_whitespace=False, default="",
        help_text=_("The text after the passage."),
    )  # fmt: skip
