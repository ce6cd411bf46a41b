"""Purpose: a fresh database on SQLite, and on PostgreSQL where its wheel is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database import Database
from tests.support.postgres import postgres_url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/sweepgate.sqlite" if request.param == "sqlite" else postgres_url()
    database = Database(url)
    database.migrate()
    yield database
    database.close()
