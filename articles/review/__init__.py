"""The automatic review of an article: what it says, in what, and why."""

from articles.review.opinions import Finding, Opinion, findings_of
from articles.review.pipeline import review, review_words, takes_long
from articles.review.text import Subject

__all__ = ["Finding", "Opinion", "Subject", "findings_of", "review", "review_words", "takes_long"]
