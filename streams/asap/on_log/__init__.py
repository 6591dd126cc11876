"""An ASAP server on the log: envelopes are decided by the `asap` processor (ASAP guide, 6.3)."""

from streams.asap.on_log.host import Host
from streams.asap.on_log.service import service_manifest, service_server
from streams.asap.on_log.stream import LogStream

__all__ = ["Host", "LogStream", "service_manifest", "service_server"]
