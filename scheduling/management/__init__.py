"""Management commands of the engine."""
