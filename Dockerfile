# Two stages: wheels are built once, the image that runs holds no build tools. Works as non-root on a read-only root;
# the only place that is written is /var/lib/sweepgate (a volume).
FROM python:3.12-slim AS build
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/sweepgate && /opt/sweepgate/bin/pip install --no-cache-dir --require-hashes -r requirements.lock

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/sweepgate --create-home sweepgate \
    && apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/sweepgate /opt/sweepgate
COPY app /srv/sweepgate/app
COPY checks /srv/sweepgate/checks
COPY configs /srv/sweepgate/configs
COPY workflows /srv/sweepgate/workflows
COPY examples /srv/sweepgate/examples
ENV PATH=/opt/sweepgate/bin:$PATH PYTHONPATH=/srv/sweepgate PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    SWEEPGATE_DATABASE_URL=sqlite:////var/lib/sweepgate/sweepgate.sqlite
USER 10001
WORKDIR /var/lib/sweepgate
VOLUME /var/lib/sweepgate
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["python", "-m", "app.cli"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
