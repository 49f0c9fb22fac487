"""Resolving names of channels, tags and users; missing channels and tags are created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import Any, TypeVar

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Manager, Max, Q
from django.db.models.functions import Lower
from django.utils.text import slugify

from articles.models import Article, Channel, Tag
from scheduling.database import delete_by_ids

_Named = TypeVar("_Named", Channel, Tag)


def channels_named(wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, Channel]:
    """The channel of each name; a missing one is created with the values given."""
    return {name: _named(Channel.objects, name) or _new_channel(name, **wanted[name]) for name in wanted}


def tags_named(names: Iterable[str]) -> dict[str, Tag]:
    """The tag of each name; a missing one is created, with the slug given if `names` are the keys of a mapping."""
    slugs = names if isinstance(names, Mapping) else {}
    wanted = set(names)
    found = {tag.name: tag for tag in Tag.objects.filter(name__in=wanted)}
    in_order = names if isinstance(names, Mapping) else sorted(wanted)
    for name in in_order:
        if name in found:
            continue
        found[name] = tag_named(name) or Tag.objects.create(name=name, slug=_free_slug(Tag, slugs.get(name) or name))
    return found


def tag_named(name: str) -> Tag | None:
    """The tag with this name, or else with another case of it."""
    return _named(Tag.objects, name)


def _named(rows: Manager[_Named], name: str) -> _Named | None:
    """The row with this name, or else with another case of it."""
    same = (row for row in rows.filter(name__iexact=name) if row.name.casefold() == name.casefold())
    return rows.filter(name=name).first() or next(same, None)


def tag_all(names_of: Mapping[int, Collection[str]], tags: Mapping[str, Tag] | None = None) -> None:
    """Give many articles (by id) the tags of these names and no others, in a few statements."""
    tags = tags_named({name for names in names_of.values() for name in names}) if tags is None else tags
    through = Article.tags.through
    pairs = {(article_id, tags[name].pk) for article_id, names in names_of.items() for name in names}
    delete_by_ids(through, through.objects.filter(article_id__in=names_of).values_list("pk", flat=True))
    through.objects.bulk_create([through(article_id=article_id, tag_id=tag_id) for article_id, tag_id in sorted(pairs)])


def users_named(names: Iterable[str]) -> dict[str, AbstractBaseUser]:
    """The users with these names or e-mail addresses, by the name given, in any case.

    A name or an address that several users share, up to case, is ignored, unless it is exactly the name of one.
    """
    wanted = set(names)
    small = {name.lower() for name in wanted}
    all_users = get_user_model()._default_manager.annotate(address=Lower("email"), called=Lower("username"))
    users = list(all_users.filter(Q(username__in=wanted) | Q(called__in=small) | Q(address__in=small)))
    known = _unshared((user.address, user) for user in users)
    known |= _unshared((user.get_username().lower(), user) for user in users)
    exact = {user.get_username(): user for user in users}
    return {name: found for name in wanted if (found := exact.get(name) or known.get(name.lower()))}


def _unshared(pairs: Iterable[tuple[str, AbstractBaseUser]]) -> dict[str, AbstractBaseUser]:
    found = list(pairs)
    counts = Counter(key for key, _user in found)
    return {key: user for key, user in found if counts[key] == 1}


def _new_channel(name: str, *, slug: str, description: str, position: int | None, enabled: bool) -> Channel:
    """A new channel, which is the last one unless its position is given."""
    if position is None:
        position = (Channel.objects.aggregate(last=Max("position"))["last"] or 0) + 1
    slug = _free_slug(Channel, slug or name)
    return Channel.objects.create(name=name, slug=slug, description=description, position=position, enabled=enabled)


def _free_slug(model: type[Channel | Tag], name: str) -> str:
    longest = model._meta.get_field("slug").max_length - 8  # type: ignore[operator]
    base = slugify(name, allow_unicode=True)[:longest] or "x"
    # The database's collation decides whether two slugs are equal.
    tried = (f"{base}-{n}" if n > 1 else base for n in count(1))
    return next(slug for slug in tried if not model.objects.filter(slug=slug).exists())
