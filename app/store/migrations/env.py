"""Purpose: Alembic's entry; the connection is handed in by app.store.database.migrate, never opened here."""

from __future__ import annotations

from alembic import context

from app.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
