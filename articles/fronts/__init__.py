"""Composed fronts: what readers get at an instant."""

from articles.fronts.shown import (
    ShownBlock as ShownBlock,
    ShownCard as ShownCard,
    ShownFront as ShownFront,
    ShownLink as ShownLink,
    front_at as front_at,
    shows_image as shows_image,
)
