"""Screens whose transactions are run again when they collide with another one."""

from __future__ import annotations

from typing import Any

from unfold.admin import ModelAdmin

from scheduling.services import retried


class RetriedScreens(ModelAdmin):
    """Django does what a form says, and a deletion, as one transaction each: nobody hears of a deadlock."""

    def changeform_view(self, *args: Any, **options: Any) -> Any:
        """The form, and its save."""
        return retried(super().changeform_view)(*args, **options)

    def delete_view(self, *args: Any, **options: Any) -> Any:
        """The question, and the deletion."""
        return retried(super().delete_view)(*args, **options)
