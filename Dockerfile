# A worker; `docker run … gateway` is a gateway.  The broker is elsewhere: set HEADRACE_BOOTSTRAP.
ARG PYTHON_IMAGE=python:3.13-slim
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/headrace \
    && /opt/headrace/bin/pip install --no-cache-dir --require-hashes -r requirements.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY headrace headrace
COPY schemas schemas
COPY topology topology
COPY streams streams
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /tmp/dist \
    && /opt/headrace/bin/pip install --no-cache-dir --no-index --no-deps /tmp/dist/*.whl

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --home-dir /var/lib/headrace --create-home headrace
COPY --from=build /opt/headrace /opt/headrace
ENV PATH=/opt/headrace/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HEADRACE_STATE_DIR=/var/lib/headrace \
    HEADRACE_METRICS=0.0.0.0:9464
USER 10001
VOLUME /var/lib/headrace
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=6 CMD ["headrace", "ready"]
ENTRYPOINT ["headrace"]
CMD ["worker"]
