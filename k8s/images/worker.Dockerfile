# The GPU worker.
#   docker build -f k8s/images/worker.Dockerfile --build-arg COMMIT=$(git rev-parse HEAD) -t planarena-worker:dev .
# k8s/images/refresh_bases.py looks up a new digest of the base image.
# Without a GPU: --build-arg CUDA_IMAGE=ubuntu:24.04 --build-arg TORCH=cpu --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-base-ubuntu24.04@sha256:f8ef28f579ea42a44b415d2c5d46f788e6a9b395c6c83f2929416e1fc192c143

FROM ${CUDA_IMAGE} AS python
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv bubblewrap libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

FROM python AS packages
WORKDIR /build
# With it compiled modules hold the hash of their source and not its time: the same packages make the same files.
ARG SOURCE_DATE_EPOCH=0
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/ requirements/
# cuda or cpu. The CUDA build brings its own libraries; the base image only tells the container runtime which driver is
# needed.
ARG TORCH=cuda
ARG TORCH_INDEX=https://pypi.org/simple
RUN pip install --no-deps --only-binary :all: --require-hashes --index-url "${TORCH_INDEX}" -r "requirements/torch-${TORCH}.txt"
RUN pip install --no-deps --only-binary :all: --require-hashes -r requirements/worker.txt

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
