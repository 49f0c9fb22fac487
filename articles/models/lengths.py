"""The maximum lengths of an article's texts, in characters: all models, forms and importers use these."""

TITLE_LENGTH = 200
SLUG_LENGTH = 200
BODY_LENGTH = 1_000_000
