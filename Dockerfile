# Build: docker build -t offbeat .
# Run:   docker run --network host -v offbeat:/data --read-only --cap-drop ALL offbeat
#
# An engine without keys listens on loopback only, which inside a container nobody else reaches:
# hence the host's network above. docs/how-to-install.md has the other ways.
#
# scripts/rehearse_dockerfile.py runs these steps without Docker, in every test of the project.

FROM debian:12-slim AS build
# A Debian release keeps one version of a package, the patched one: another number is not there.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements-build.lock requirements.lock ./
# The second environment has no pip: it is what runs.
RUN python3 -m venv /build \
    && python3 -m venv --without-pip /offbeat \
    && /build/bin/pip install --no-cache-dir --require-hashes --only-binary :all: \
        -r requirements-build.lock \
    && /build/bin/pip --python /offbeat/bin/python install --no-cache-dir --require-hashes \
        --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY engine engine
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /build/bin/pip --python /offbeat/bin/python install --no-deps /wheel/*.whl

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /offbeat /offbeat
# By number: Kubernetes judges `runAsNonRoot` by it.
USER 10001:10001
WORKDIR /data
VOLUME /data
# SQLite's temporary files go where one may write when the root is read-only.
ENV PATH=/offbeat/bin:$PATH PYTHONDONTWRITEBYTECODE=1 \
    OFFBEAT_ENGINE__DATA_DIR=/data SQLITE_TMPDIR=/data
# On SIGTERM the engine drains for up to 25 s, and its server may take 10 s more:
# docker stop --time 40.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["python3", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8420/livez', timeout=4)"]
ENTRYPOINT ["offbeat"]
CMD ["run"]
