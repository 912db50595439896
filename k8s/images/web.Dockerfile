# The site: web, Celery workers, beat, migrations.
#   docker build -f k8s/images/web.Dockerfile --build-arg COMMIT=$(git rev-parse HEAD) -t planarena-web:dev .
# For a release give the base images by digest: --build-arg PYTHON_DIGEST=@sha256:... --build-arg NODE_DIGEST=@sha256:...
ARG PYTHON_DIGEST=""
ARG NODE_DIGEST=""

FROM node:24-slim${NODE_DIGEST} AS frontend
WORKDIR /build
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.11-slim${PYTHON_DIGEST} AS packages
WORKDIR /build
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml constraints.txt k8s/images/requirements.py ./
# The CPU build of torch: the site executes nothing.
RUN pip install --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' constraints.txt)"
RUN python requirements.py pyproject.toml > requirements.txt && pip install -c constraints.txt -r requirements.txt

FROM python:3.11-slim${PYTHON_DIGEST}
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
COPY --from=frontend /build/dist/ frontend/dist/
ARG COMMIT=""
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/data PLANARENA_DATA=/data PLANARENA_STORE=/store PLANARENA_COMMIT=${COMMIT}
# Everything else may be read-only.
VOLUME ["/data", "/store", "/tmp"]
EXPOSE 8000
USER 65532:65532
CMD ["uvicorn", "leaderboard.config.asgi:application", "--host=0.0.0.0", "--port=8000", "--timeout-graceful-shutdown=20"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-m", "leaderboard.config.healthcheck"]
