"""Management commands of the newsroom, and what they share."""
