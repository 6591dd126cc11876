# The command line and the worker.  The broker is another container: set HEADRACE_BOOTSTRAP.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.txt ./
RUN python -m venv /opt/headrace \
    && /opt/headrace/bin/pip install --no-cache-dir --require-hashes -r requirements.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir "hatchling>=1.27"
COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY topology topology
COPY streams streams
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /tmp/dist \
    && /opt/headrace/bin/pip install --no-cache-dir --no-deps /tmp/dist/*.whl

FROM python:3.13-slim
RUN useradd --system --home-dir /var/lib/headrace --create-home headrace
COPY --from=build /opt/headrace /opt/headrace
ENV PATH=/opt/headrace/bin:$PATH \
    HEADRACE_STATE_DIR=/var/lib/headrace
USER headrace
VOLUME /var/lib/headrace
STOPSIGNAL SIGTERM
ENTRYPOINT ["headrace"]
CMD ["worker"]
