"""External ids, by which an import recognises articles: of our own in exports, and of others with their source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC

from articles.models import Article

LENGTH = int(Article._meta.get_field("external_id").max_length or 0)
_LOCAL = (
    r"(?:[^/.:?#]+(?:[/:?#]|$)|\[|(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d"
    r"|[^/:?#]+\.(?:internal|lan|local|localhost|test)(?:[/:?#]|$))"
)
"""Hosts that mean another one in each network, such as those on which sites are built."""

_UNIQUE = re.compile(
    rf"https?://(?!{_LOCAL})|(?:tag|urn|ghost|info|doi|ark|hdl):|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"headline:([0-9]{1,18})@\S+")


def identity(article: Article) -> str:
    """Its id and creation time, since the id alone is not unique across installations."""
    return f"headline:{article.pk}@{article.created_at.astimezone(UTC).isoformat()}"


def own_ids(external_ids: Iterable[str]) -> set[str]:
    """The external ids that belong to articles of this installation."""
    wanted = {int(found[1]): each for each in external_ids if (found := _PATTERN.fullmatch(each))}
    articles = Article.objects.filter(pk__in=wanted).only("created_at") if wanted else Article.objects.none()
    return {identity(article) for article in articles} & set(wanted.values())


def articles_by_id(external_ids: Iterable[str]) -> dict[str, int]:
    """The numbers of the articles here, also of those that were written here, by their ids in files."""
    wanted = {shortened(external_id) for external_id in external_ids} - {""}
    found = dict(Article.objects.filter(external_id__in=wanted).values_list("external_id", "pk"))
    own = {external_id: int(_PATTERN.fullmatch(external_id)[1]) for external_id in own_ids(wanted)}  # type: ignore[index]
    return own | {external_id or "": pk for external_id, pk in found.items()}


def shortened(external_id: str) -> str:
    """An id of any length as one that can be stored: the end of a long one is replaced by a hash."""
    if len(external_id) <= LENGTH:
        return external_id
    return external_id[: LENGTH - 24] + hashlib.blake2b(external_id.encode(), digest_size=12).hexdigest()


def with_source(given: str, source: str) -> str:
    """`given` with the address of its source, unless it is unique in the world, as UUIDs and public addresses are."""
    place = re.sub(r"^[a-z]+://(?:www\.)?", "", source.strip().lower()).rstrip("/")
    return given if _UNIQUE.match(given) or not place else f"{place}#{given}"
