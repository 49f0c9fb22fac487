"""The command palette (Ctrl+K): finds articles, releases, images, people and screens, and runs commands."""
