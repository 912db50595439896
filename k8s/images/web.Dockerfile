# The site: web, Celery workers, beat, migrations.
#   docker build -f k8s/images/web.Dockerfile --build-arg COMMIT=$(git rev-parse HEAD) -t planarena-web:dev .
# k8s/images/refresh_bases.py looks up new digests of the base images.
ARG PYTHON_IMAGE=python:3.11-slim@sha256:db3ff2e1800a8581e2c48a27c3995339d47bdf046da21c7627accd3d51053a93
ARG NODE_IMAGE=node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df

FROM ${NODE_IMAGE} AS frontend
WORKDIR /build
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM ${PYTHON_IMAGE} AS packages
WORKDIR /build
# With it compiled modules hold the hash of their source and not its time: the same packages make the same files.
ARG SOURCE_DATE_EPOCH=0
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/ requirements/
# No torch: the site executes no plans.
RUN pip install --no-deps --only-binary :all: --require-hashes -r requirements/site.txt

FROM ${PYTHON_IMAGE}
# libseccomp confines planners' programs, in their pod.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libseccomp2 \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 65532 planarena \
    && useradd --uid 65532 --gid 65532 --home-dir /data --shell /usr/sbin/nologin planarena \
    && install -d -o 65532 -g 65532 /data /store
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY evaluator/ evaluator/
COPY gpu_jobs/ gpu_jobs/
COPY leaderboard/ leaderboard/
COPY frontend/templates/ frontend/templates/
COPY docs/ docs/
COPY examples/ examples/
COPY manage.py ./
# For `python -m evaluator sbom`.
COPY frontend/package-lock.json frontend/
COPY --from=frontend /build/dist/ frontend/dist/
ARG COMMIT=""
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/data PLANARENA_DATA=/data PLANARENA_STORE=/store PLANARENA_COMMIT=${COMMIT}
# Everything else may be read-only.
VOLUME ["/data", "/store", "/tmp"]
EXPOSE 8000
USER 65532:65532
CMD ["uvicorn", "leaderboard.wiring.asgi:application", "--host=0.0.0.0", "--port=8000", "--timeout-graceful-shutdown=20"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-m", "leaderboard.platform.healthcheck"]
