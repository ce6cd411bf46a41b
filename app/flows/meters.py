"""Purpose: the service's Prometheus metrics, in a registry of their own.

sweepgate_deliveries_total{outcome,event}     what the door did with a delivery
sweepgate_actions_total{action}               effects performed
sweepgate_failures_total{kind}                reconciles that failed, by what followed
sweepgate_verdicts_total{header}              verdicts published
sweepgate_rows_total{check,status}            rows of published verdicts
sweepgate_reaction_seconds, sweepgate_verdict_seconds   receipt -> first reaction, receipt -> verdict
sweepgate_inbox_rows{status}                  rows of the inbox
sweepgate_pulls_waiting                       pull requests with work
sweepgate_github_requests{installation}       requests made of GitHub since the start
sweepgate_github_remaining{installation}      what is left of the hour's budget
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 30, 60, 300)


class PrometheusMeters:
    """Implements the door's counter and the flows' meters."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"sweepgate_{name}", text, labels, registry=self.registry)
            for name, text, labels in (
                ("deliveries", "Deliveries by outcome and event", ("outcome", "event")),
                ("actions", "Effects performed", ("action",)),
                ("failures", "Failed reconciles by what followed", ("kind",)),
                ("verdicts", "Published verdicts", ("header",)),
                ("rows", "Rows of published verdicts", ("check", "status")),
            )
        }
        self._timings = {
            name: Histogram(f"sweepgate_{name}_seconds", text, buckets=_SECONDS, registry=self.registry)
            for name, text in (
                ("reaction", "Receipt to first visible reaction"),
                ("verdict", "Receipt to verdict comment"),
                ("reconcile", "One reconcile"),
                ("round", "One periodic round"),
            )
        }
        self._inbox = Gauge("sweepgate_inbox_rows", "Rows of the inbox", ("status",), registry=self.registry)
        self._requests, self._remaining = (
            Gauge(f"sweepgate_github_{name}", text, ("installation",), registry=self.registry)
            for name, text in (
                ("requests", "Requests made of GitHub since the start"),
                ("remaining", "What is left of the hour's budget"),
            )
        )
        self._waiting = Gauge("sweepgate_pulls_waiting", "Pull requests with work", registry=self.registry)

    def observe(self, name: str, seconds: float) -> None:
        self._timings[name].observe(max(0.0, seconds))

    def count(self, name: str, labels: Mapping[str, str]) -> None:
        self._counters[name].labels(**labels).inc()

    def delivery(self, outcome: str, event: str) -> None:
        self._delivered(outcome, event).inc()

    @lru_cache(maxsize=64)  # noqa: B019  (one instance a process; the label values are few)
    def _delivered(self, outcome: str, event: str) -> Counter:
        return self._counters["deliveries"].labels(outcome=outcome, event=event)

    def show(
        self, *, inbox: Mapping[str, int], waiting: int, github: Mapping[str, tuple[int, int | None]] | None = None
    ) -> bytes:
        """The exposition text, with the gauges brought up to date."""
        for status in ("new", "taken", "done", "failed"):
            self._inbox.labels(status=status).set(inbox.get(status, 0))
        self._waiting.set(waiting)
        for installation, (requests, remaining) in (github or {}).items():
            self._requests.labels(installation=installation).set(requests)
            if remaining is not None:
                self._remaining.labels(installation=installation).set(remaining)
        return generate_latest(self.registry)
