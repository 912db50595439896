# The GPU worker.
#   docker build -f k8s/images/worker.Dockerfile --build-arg COMMIT=$(git rev-parse HEAD) -t planarena-worker:dev .
# For a release give the base image by digest: --build-arg CUDA_DIGEST=@sha256:...
# Without a GPU: --build-arg CUDA_IMAGE=ubuntu:24.04 --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-base-ubuntu24.04
ARG CUDA_DIGEST=""

FROM ${CUDA_IMAGE}${CUDA_DIGEST} AS python
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv bubblewrap libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

FROM python AS packages
WORKDIR /build
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml constraints.txt k8s/images/requirements.py ./
# Brings CUDA's libraries itself; the base image only tells the container runtime which driver is needed.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cu130
RUN pip install --index-url "${TORCH_INDEX}" "$(grep '^torch==' constraints.txt)"
RUN python requirements.py pyproject.toml > requirements.txt && pip install -c constraints.txt -r requirements.txt

FROM python
RUN groupadd --gid 65532 planarena \
    && useradd --uid 65532 --gid 65532 --home-dir /data --shell /usr/sbin/nologin planarena \
    && install -d -o 65532 -g 65532 /data
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY evaluator/ evaluator/
COPY gpu_jobs/ gpu_jobs/
ARG COMMIT=""
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/data PLANARENA_DATA=/data PLANARENA_DEVICE=cuda PLANARENA_COMMIT=${COMMIT}
# Everything else may be read-only.
VOLUME ["/data", "/tmp"]
USER 65532:65532
CMD ["python", "-m", "gpu_jobs", "worker"]
