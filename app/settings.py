"""Purpose: everything that the environment decides, under the prefix SWEEPGATE_.

Invariants: secrets are `SecretStr` and never show in repr or logs; a wrong value is refused at start with the name of
the variable and what was expected. Lists are comma-separated.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

# Raise by hand with every change of a workflow's meaning (docs/operations.md, "Upgrade").
APPLICATION_VERSION = "sweepgate-1"


class Settings(BaseSettings):
    """All settings. Each has a row in docs/operations.md (a test holds that)."""

    model_config = SettingsConfigDict(env_prefix="SWEEPGATE_", extra="ignore", frozen=True)

    webhook_secrets: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    marker_key: SecretStr = SecretStr("")
    github_url: str = "https://api.github.com"
    github_web_url: str = "https://github.com"
    github_token: SecretStr = SecretStr("")
    app_id: int = 0
    app_private_key: SecretStr = SecretStr("")
    bot_login: str = ""
    repositories: Annotated[tuple[str, ...], NoDecode] = ()
    archive_hosts: Annotated[tuple[str, ...], NoDecode] = ()

    database_url: str = "sqlite:///var/sweepgate.sqlite"
    workflow_database_url: str = ""
    executor_id: str = ""
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    log_format: Literal["json", "console"] = "json"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    max_body_bytes: int = Field(default=10 * 1024 * 1024, gt=0)
    inbox_limit: int = Field(default=100_000, gt=0)
    inbox_keep_days: float = Field(default=14, gt=0)

    workers: int = Field(default=8, ge=1)
    per_repository: int = Field(default=6, ge=1)
    gather_seconds: float = Field(default=0.1, ge=0)
    pump_seconds: float = Field(default=1.0, gt=0)
    queue_poll_seconds: float = Field(default=0.1, gt=0)
    heartbeat_seconds: float = Field(default=5.0, gt=0)
    dead_after_seconds: float = Field(default=30.0, gt=0)
    round_seconds: float = Field(default=120.0, gt=0)
    outside_seconds: float = Field(default=1800.0, gt=0)
    visible_seconds: float = Field(default=60.0, ge=0)
    permission_seconds: float = Field(default=300.0, ge=0)

    @field_validator("webhook_secrets", "repositories", "archive_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("app_private_key", mode="after")
    @classmethod
    def _newlines(cls, value: SecretStr) -> SecretStr:
        """A key in one line of an environment file: backslash-n stands for a line end."""
        return SecretStr(value.get_secret_value().replace("\\n", "\n"))

    @property
    def queue_url(self) -> str:
        """The queue's database: the same on PostgreSQL, a file of its own on SQLite (it never waits for the inbox)."""
        if self.workflow_database_url or not self.database_url.startswith("sqlite"):
            return self.workflow_database_url or self.database_url
        return self.database_url.removesuffix(".sqlite") + "-queue.sqlite"

    def missing(self) -> tuple[str, ...]:
        """What the service still needs, as names of variables."""
        wanted = []
        if not self.webhook_secrets:
            wanted.append("SWEEPGATE_WEBHOOK_SECRETS")
        if not self.marker_key.get_secret_value():
            wanted.append("SWEEPGATE_MARKER_KEY")
        if not self.github_token.get_secret_value() and not (self.app_id and self.app_private_key.get_secret_value()):
            wanted.append("SWEEPGATE_GITHUB_TOKEN, or SWEEPGATE_APP_ID with SWEEPGATE_APP_PRIVATE_KEY")
        return tuple(wanted)
