"""Admin views that retry on deadlocks."""

from __future__ import annotations

from typing import Any

from articles.desk.bounded import SearchedScreens
from scheduling.services import retried


class RetriedScreens(SearchedScreens):
    """Runs saving and deleting as one retried transaction each."""

    def changeform_view(self, *args: Any, **options: Any) -> Any:
        return retried(super().changeform_view)(*args, **options)

    def delete_view(self, *args: Any, **options: Any) -> Any:
        return retried(super().delete_view)(*args, **options)
