"""The API of an article's notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.functional import cached_property
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles import notes
from articles.api.base import NewsroomView
from articles.api.note_serializers import (
    NewNoteSerializer,
    NewReplySerializer,
    NoteFilterSerializer,
    ReplySerializer,
    ThreadSerializer,
)
from articles.models import Article, Note
from articles.pages import newest_text
from articles.text import Selector, plain_text
from scheduling.api.strict import EmptyBody
from scheduling.api.versions import etag_of


@extend_schema_view(
    list=extend_schema(
        operation_id="desk_notes_list", summary="Threads of an article, oldest first",
        parameters=[NoteFilterSerializer],
    ),
    retrieve=extend_schema(operation_id="desk_notes_retrieve", summary="One thread with its replies"),
)  # fmt: skip
class NoteViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """The notes of an article, which readers never see. A reply has an id of its own, to edit or delete it."""

    serializer_class = ThreadSerializer
    filter_class = NoteFilterSerializer
    queryset = Note.objects.none()
    lookup_value_converter = "str"
    ordering = ("created_at", "id")
    is_versioned = True

    def get_queryset(self) -> QuerySet[Note]:
        """The threads of the article in the URL."""
        return notes.threads_of(self.article)

    @cached_property
    def article(self) -> Article:
        """The article in the URL."""
        return get_object_or_404(Article.objects.select_related("update__draft"), pk=self.kwargs.get("article", 0))

    def get_serializer_context(self) -> dict[str, Any]:
        """With the newest text, in which passages are searched."""
        context = super().get_serializer_context()
        has_article = "article" in self.kwargs
        return {**context, "body": plain_text(newest_text(self.article)[0].body) if has_article else ""}

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by whether a thread is resolved."""
        resolved = filters.get("resolved")
        return queryset if resolved is None else queryset.filter(resolved_at__isnull=not resolved)

    def retrieve(self, request: Request, article: int, pk: str) -> Response:
        """The thread; its `ETag` can be sent as `If-Match` with changes of it, and of its replies."""
        return self.respond_with(pk)

    @extend_schema(
        operation_id="desk_notes_create", summary="Start a thread", request=NewNoteSerializer,
        responses={201: ThreadSerializer},
    )  # fmt: skip
    def create(self, request: Request, article: int) -> Response:
        """Start a thread about a passage or the article; mentioned users are notified."""
        values = self.checked(NewNoteSerializer)
        about = Selector(values["quote"], values["prefix"], values["suffix"])
        note = notes.add_note(self.article, by=request.user, text=values["text"], about=about)
        return self.respond_with(note.pk, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="desk_notes_partial_update", summary="Edit a note", request=NewReplySerializer,
        responses=ReplySerializer,
    )  # fmt: skip
    def partial_update(self, request: Request, article: int, pk: str) -> Response:
        """Change the text of an own note or reply."""
        note, values = notes.find_note(self.article, pk), self.checked(NewReplySerializer)
        thread = _thread_of(note)
        self.if_match(thread, lambda: notes.edit_note(note, by=request.user, text=values["text"]))
        return Response(ReplySerializer(note).data, headers={"ETag": etag_of(self.shown(thread.pk))})

    @extend_schema(operation_id="desk_notes_destroy", summary="Delete a note")
    def destroy(self, request: Request, article: int, pk: str) -> Response:
        """Delete an own note or reply; administrators delete any."""
        note = notes.find_note(self.article, pk)
        self.if_match(_thread_of(note), lambda: notes.delete_note(note, by=request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="desk_notes_reply", summary="Reply", request=NewReplySerializer, responses={201: ThreadSerializer}
    )
    @action(detail=True, methods=["post"])
    def reply(self, request: Request, article: int, pk: str) -> Response:
        """Answer in a thread; its writers and mentioned users are notified."""
        thread, values = notes.find_note(self.article, pk), self.checked(NewReplySerializer)
        answer = self.if_match(_thread_of(thread), lambda: notes.reply(thread, by=request.user, text=values["text"]))
        return self.respond_with(answer.thread_id, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_notes_resolve", summary="Resolve a thread", request=None)
    @action(detail=True, methods=["post"])
    def resolve(self, request: Request, article: int, pk: str) -> Response:
        """Nothing happens if it is resolved already."""
        return self._apply(notes.resolve_note, pk)

    @extend_schema(operation_id="desk_notes_reopen", summary="Reopen a thread", request=None)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, article: int, pk: str) -> Response:
        """Nothing happens if it is open already."""
        return self._apply(notes.reopen_note, pk)

    def _apply(self, change: Callable[..., None], pk: str) -> Response:
        note, _nothing = notes.find_note(self.article, pk), self.checked(EmptyBody)
        self.if_match(_thread_of(note), lambda: change(note, by=self.request.user))
        return self.respond_with(note.thread_id or note.pk)


def _thread_of(note: Note) -> Note:
    """The thread, which has a version: with its replies."""
    return note.thread or note
