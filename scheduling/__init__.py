"""The delayed-task engine: works in any Django project and knows nothing about articles."""
