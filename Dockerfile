# Build: docker build -t offbeat .
# Run:   docker run --network host -v offbeat:/data offbeat
#
# An engine without keys listens on loopback only, which inside a container nobody else reaches:
# hence the host's network above. `--listen unix:/data/offbeat.sock` is the other way.

FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
WORKDIR /src
COPY requirements-build.lock requirements.lock ./
RUN python3 -m venv /build && python3 -m venv /offbeat \
    && /build/bin/pip install --require-hashes --only-binary :all: -r requirements-build.lock \
    && /offbeat/bin/pip install --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY engine engine
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /offbeat/bin/pip install --no-deps /wheel/*.whl

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data offbeat \
    && install -d -o offbeat -m 0700 /data
COPY --from=build /offbeat /offbeat
USER offbeat
VOLUME /data
ENV PATH=/offbeat/bin:$PATH PYTHONDONTWRITEBYTECODE=1
# The engine drains for up to 25 s on SIGTERM; give `docker stop` a --time of 30.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python3", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8420/livez', timeout=2)"]
ENTRYPOINT ["offbeat"]
CMD ["run", "--data-dir", "/data"]
