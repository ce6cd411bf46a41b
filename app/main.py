"""Purpose: wiring only: settings in, the FastAPI application of one process out.

The doors that are still missing their room (GitHub access, the verdict) are handed in, so that tests and the demo can
start the same application against a stand-in.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.effects.context import Links, Planner
from app.effects.faults import Faults
from app.effects.markers import Markers
from app.effects.sweeps import no_plan
from app.effects.verify import Verify
from app.flows.gather import PermissionCache
from app.flows.meters import PrometheusMeters
from app.flows.ports import Access, SameMeasurement
from app.flows.reconcile import Reconciler
from app.flows.service import FlowSettings, Service
from app.flows.store_records import StoreRecords
from app.inbox.door import Door
from app.inbox.events import read_row
from app.settings import APPLICATION_VERSION, Settings
from app.store.database import Database
from app.store.inbox import Delivery, Receipt

# The loop and the inbox writer hand work to each other a thousand times a second; Python's 5 ms would be the p99.
SWITCH_SECONDS = 0.001


@dataclass(frozen=True)
class Rooms:
    """What other rooms supply: GitHub per repository, the verdict, and the same-measurement rule."""

    access: Access
    verify: Verify
    same_measurement: SameMeasurement
    links: Links
    plan: Planner = no_plan


class _LateWriter:
    """The writer exists only after the service has started; until then deliveries are refused."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def accept(self, delivery: Delivery, receipt: Receipt) -> None:
        if self._service.writer is None:
            receipt(RuntimeError("the service has not started"))
        else:
            self._service.writer.accept(delivery, receipt)


class _DoorFirst:
    """The webhook path goes straight to its door; everything else goes through the framework."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/webhooks/github":
            await self._door(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Room:
    """Whether the inbox may grow; asked of the database at most once a second."""

    def __init__(self, service: Service, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._service, self._limit, self._clock = service, limit, clock
        self._asked, self._answer = float("-inf"), True

    def __call__(self) -> bool:
        if self._clock() - self._asked > 1.0:
            self._asked = self._clock()
            self._answer = self._service.open_rows(self._limit) < self._limit
        return self._answer


def build_service(settings: Settings, rooms: Rooms, *, clock: Callable[[], float] = time.time) -> Service:
    """The service without its HTTP doors; `sweepgate receive` and the tests use it alone."""
    faults = Faults.from_environment()
    database = Database(settings.database_url, hook=faults, pool_size=settings.workers + 6)
    meters = PrometheusMeters()
    reconciler = Reconciler(
        access=rooms.access,
        records=StoreRecords(database, clock=clock, meters=meters, visible=settings.visible_seconds),
        markers=Markers(settings.marker_key.get_secret_value().encode()),
        verify=rooms.verify,
        plan=rooms.plan,
        same_measurement=rooms.same_measurement,
        permissions=PermissionCache(clock=time.monotonic, seconds=settings.permission_seconds),
        meters=meters,
        faults=faults,
        clock=clock,
        visible_seconds=settings.visible_seconds,
        links=rooms.links,
    )
    return Service(database, reconciler, flow_settings(settings), read=read_row, meters=meters, clock=clock)


def flow_settings(settings: Settings) -> FlowSettings:
    return FlowSettings(
        queue_url=settings.queue_url,
        application_version=APPLICATION_VERSION,
        executor=settings.executor_id,
        workers=settings.workers,
        per_repository=settings.per_repository,
        gather_seconds=settings.gather_seconds,
        pump_seconds=settings.pump_seconds,
        queue_poll_seconds=settings.queue_poll_seconds,
        heartbeat_seconds=settings.heartbeat_seconds,
        dead_after_seconds=settings.dead_after_seconds,
        round_seconds=settings.round_seconds,
        outside_seconds=settings.outside_seconds,
        keep_days=settings.inbox_keep_days,
        repositories=settings.repositories,
    )


def create_app(settings: Settings, rooms: Rooms, *, clock: Callable[[], float] = time.time) -> FastAPI:
    """The application. Starting it starts the service; nothing is acknowledged before that."""
    service = build_service(settings, rooms, clock=clock)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(SWITCH_SECONDS)
        await asyncio.to_thread(service.start)
        yield
        await asyncio.to_thread(service.stop)

    app = FastAPI(title="Sweepgate", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = service
    door = Door(
        _LateWriter(service),
        [secret.get_secret_value().encode() for secret in settings.webhook_secrets],
        max_body=settings.max_body_bytes,
        count=service.meters.delivery,
        room=Room(service, settings.inbox_limit),
    )
    app.add_middleware(_DoorFirst, door=door)
    _add_probes(app, service, settings)
    return app


def _add_probes(app: FastAPI, service: Service, settings: Settings) -> None:
    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz")
    def readyz() -> JSONResponse:
        """Ready to take deliveries, or what is missing."""
        missing = [*settings.missing(), *service.missing()]
        status: dict[str, Any] = {"ready": not missing, "missing": missing}
        return JSONResponse(status, 200 if not missing else 503)

    @app.get("/metrics")
    def metrics() -> Response:
        """Prometheus exposition."""
        inbox, waiting = service.counts()
        shown = service.meters.show(inbox=inbox, waiting=waiting, github=service.reconciler.access.usage())
        return PlainTextResponse(shown, media_type="text/plain; version=0.0.4")
