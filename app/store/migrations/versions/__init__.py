"""Purpose: Alembic's environment and versions of our tables."""
