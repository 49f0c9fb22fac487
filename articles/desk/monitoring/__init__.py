"""The board: drafts, articles in review, scheduled and live ones, side by side."""
