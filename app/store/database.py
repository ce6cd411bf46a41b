"""Purpose: one database by one URL: SQLite (WAL, synchronous=FULL) or PostgreSQL, and named write transactions.

Every write goes through `Database.write(name)`: the name is a fault point of the crash tests (before and after the
commit), and SQLite takes its write lock at the beginning, so that two threads wait for each other rather than fail.

Accepted race: none within one database. Readers see the last committed state.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

BUSY_SECONDS = 30
# Pages of 4 KiB: a checkpoint is two more flushes in the commit that meets it, so it comes every 16 MB, not every 4.
CHECKPOINT_PAGES = 4000

COMMITS = (
    "inbox.accept",
    "inbox.take",
    "inbox.release",
    "pulls.request",
    "pulls.enqueue",
    "pulls.begin",
    "pulls.finish",
    "effects.open",
    "effects.done",
    "effects.forget",
    "verdicts.record",
    "audit.record",
    "workers.beat",
    "workers.drop",
    "memos.put",
    "rounds.put",
    "inbox.prune",
)


class StoreFull(Exception):  # noqa: N818
    """The disk or the database cannot take more. The caller answers 503, so that GitHub can deliver again."""


# Everything that a database which is absent, wrong or full raises.
STORE_ERRORS = (SQLAlchemyError, StoreFull, OSError, ImportError)


class Database:
    """`hook` is called with "store.<name>.before" and "store.<name>.after" around every commit."""

    def __init__(self, url: str, *, hook: Callable[[str], None] | None = None, pool_size: int = 10) -> None:
        self.url = url
        self.hook = hook or _no_hook
        self.is_sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(url) if self.is_sqlite else _postgres_engine(url, pool_size)
        # SQLite's own wait for its write lock is a sleep of up to 100 ms; threads of this process hand it over at once.
        self._writing: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        self._locks: dict[str, threading.Lock] = {}
        self._locks_guard = threading.Lock()

    @contextmanager
    def write(self, name: str) -> Iterator[Connection]:
        """A committed write transaction. Raises StoreFull when the disk is full."""
        if name not in COMMITS:
            raise ValueError(f"{name} is no known commit; add it to COMMITS")
        try:
            with self._writing, self.engine.connect() as connection, connection.begin() as transaction:
                yield connection
                self.hook(f"store.{name}.before")
                transaction.commit()
        except DBAPIError as error:
            if _is_full(error):
                raise StoreFull(str(error.orig)) from error
            raise
        self.hook(f"store.{name}.after")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            yield connection.execution_options(sweepgate_read=True)

    def pragmas(self) -> dict[str, str]:
        """Durability settings of the live connection (SQLite), or of the server (PostgreSQL)."""
        with self.read() as connection:
            if self.is_sqlite:
                names = ("journal_mode", "synchronous", "busy_timeout")
                return {name: str(connection.execute(text(f"PRAGMA {name}")).scalar()) for name in names}
            return {"synchronous_commit": str(connection.execute(text("SHOW synchronous_commit")).scalar())}

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Exclusive over all workers of this database; one process only on SQLite."""
        if self.is_sqlite:
            with self._locks_guard:
                lock = self._locks.setdefault(key, threading.Lock())
            with lock:
                yield
            return
        number = zlib.crc32(key.encode())
        with self.engine.connect() as pooled:
            connection = pooled.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("SELECT pg_advisory_lock(7205, :n)"), {"n": number - 2**31})
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(7205, :n)"), {"n": number - 2**31})

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to a revision. Several workers may start at once: the first one does the work."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.lock("migrate"), self.engine.connect() as connection, connection.begin():
            config.attributes["connection"] = connection
            command.upgrade(config, revision)

    def close(self) -> None:
        self.engine.dispose()


def _no_hook(_name: str) -> None:
    return None


def _is_full(error: DBAPIError) -> bool:
    return "disk is full" in str(error.orig).lower() or getattr(error.orig, "sqlstate", "") in ("53100", "53200")


def _postgres_engine(url: str, pool_size: int) -> Engine:
    name = make_url(url)
    if name.drivername == "postgresql":
        name = name.set(drivername="postgresql+psycopg")
    return create_engine(name, pool_size=pool_size, max_overflow=20, pool_pre_ping=True)


def _sqlite_engine(url: str) -> Engine:
    sqlite_path(url)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _connect(raw: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        # The driver's own BEGIN comes too late to take the write lock at the beginning, so it is switched off.
        raw.isolation_level = None
        cursor = raw.cursor()
        busy, checkpoint = f"busy_timeout={BUSY_SECONDS * 1000}", f"wal_autocheckpoint={CHECKPOINT_PAGES}"
        for pragma in ("journal_mode=WAL", "synchronous=FULL", busy, checkpoint):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("sweepgate_read"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL, its folder created; None for another database or one in memory."""
    name = make_url(url)
    if name.get_backend_name() != "sqlite" or not name.database or name.database == ":memory:":
        return None
    path = Path(name.database)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
