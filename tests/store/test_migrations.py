"""Purpose: every migration runs on data of the version before it, and the last one gives the tables of the code.

Each migration needs a seed file `seeds/<revision>.sql` with a row for each table as that revision leaves it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

import app.store.migrations
from app.store.database import Database
from app.store.tables import METADATA

SEEDS = Path(__file__).parent / "seeds"


def revisions() -> list[str]:
    """All revisions, the first one first."""
    config = Config()
    config.set_main_option("script_location", str(Path(app.store.migrations.__file__ or "").parent))
    return [script.revision for script in reversed(list(ScriptDirectory.from_config(config).walk_revisions()))]


@pytest.mark.parametrize("revision", revisions())
def test_every_migration_has_a_seed_that_fits_it(revision: str, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    database.migrate(revision)
    statements = [line for line in (SEEDS / f"{revision}.sql").read_text().splitlines() if line.strip()]
    with database.write("memos.put") as connection:
        for statement in statements:
            connection.execute(text(statement.replace(":", r"\:")))
    tables = set(inspect(database.engine).get_table_names()) - {"alembic_version"}
    assert {statement.split()[2] for statement in statements} == tables


def test_upgrading_seeded_data_step_by_step_keeps_every_row(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    first, *_ = revisions()
    database.migrate(first)
    with database.write("memos.put") as connection:
        for statement in (SEEDS / f"{first}.sql").read_text().splitlines():
            connection.execute(text(statement.replace(":", r"\:")))
    database.migrate()
    with database.read() as connection:
        counts = {table.name: len(connection.execute(table.select()).all()) for table in METADATA.sorted_tables}
    assert set(counts.values()) == {1}, counts


def test_the_last_migration_gives_the_tables_of_the_code(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": only_ours})
        assert compare_metadata(context, METADATA) == []


def only_ours(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or name in METADATA.tables


def test_migrating_twice_is_migrating_once(database: Database) -> None:
    database.migrate()
    database.migrate()
