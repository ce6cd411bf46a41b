"""Purpose: every table of ours. GitHub is the truth; these are an inbox, an index, a ledger and an audit trail.

    inbox           one row a delivery: new -> taken -> done | failed
    pulls           one row a pull request: requested >= enqueued >= begun >= finished (generations)
    effects         the ledger of creates: open (asked of GitHub, answer unknown) -> done
    verdicts        what was published, newest last
    audit           who asked, what was decided, on what evidence
    workers         heartbeats, counted and not timed
    label_payloads  heads that a signed `labeled` delivery named (forks)
    callbacks       messages of the staging target, as they came
    memos           look-ups that can never change (a finished run's artifacts, a merge base)
    rounds          what the periodic round saw last, one row a repository

Invariants: times are seconds since 1970 in UTC; JSON columns hold plain values.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

_SERIAL = BigInteger().with_variant(Integer, "sqlite")

INBOX = Table(
    "inbox",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("guid", Text, nullable=False, unique=True),
    Column("event", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("received_at", Double, nullable=False),
    Column("status", Text, nullable=False, server_default="new"),
    Column("reason", Text),
    Column("repository", Text),
    Column("number", BigInteger),
    Column("generation", BigInteger),
    Index("inbox_by_status", "status", "id"),
    Index("inbox_by_pull", "repository", "number", "generation"),
)

PULLS = Table(
    "pulls",
    METADATA,
    Column("repository", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("requested", BigInteger, nullable=False, server_default="0"),
    Column("enqueued", BigInteger),
    Column("enqueued_at", Double),
    Column("running", BigInteger),
    Column("begun", BigInteger, nullable=False, server_default="0"),
    Column("finished", BigInteger, nullable=False, server_default="0"),
    Column("retry_at", Double),
    Column("attempts", BigInteger, nullable=False, server_default="0"),
    Column("reason", Text),
    Column("summary", JSON),
    Index("pulls_by_work", "requested", "begun"),
)

EFFECTS = Table(
    "effects",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("result", Text),
    Column("changed_at", Double, nullable=False),
)

VERDICTS = Table(
    "verdicts",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("repository", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("sign_off", Text, nullable=False),
    Column("head_sha", Text, nullable=False),
    Column("verify_key", Text, nullable=False),
    Column("header", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("text", Text, nullable=False),
    Column("comment_id", BigInteger, nullable=False),
    Column("published_at", Double, nullable=False),
    UniqueConstraint("repository", "number", "sign_off", "verify_key", name="verdict_once"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("repository", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", JSON, nullable=False),
    Index("audit_by_pull", "repository", "number", "id"),
)

WORKERS = Table(
    "workers",
    METADATA,
    Column("executor", Text, primary_key=True),
    Column("beat", BigInteger, nullable=False),
    Column("started_at", Double, nullable=False),
)

LABEL_PAYLOADS = Table(
    "label_payloads",
    METADATA,
    Column("guid", Text, primary_key=True),
    Column("repository", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("head_sha", Text, nullable=False),
    Column("actor_id", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index("label_payloads_by_pull", "repository", "number"),
)

MEMOS = Table(
    "memos",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("value", JSON, nullable=False),
    Column("changed_at", Double, nullable=False),
)

CALLBACKS = Table(
    "callbacks",
    METADATA,
    Column("guid", Text, primary_key=True),
    Column("repository", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("at", Double, nullable=False),
    Index("callbacks_by_pull", "repository", "number"),
)

ROUNDS = Table(
    "rounds",
    METADATA,
    Column("repository", Text, primary_key=True),
    Column("state", JSON, nullable=False),
)
