"""A check that Python trusts the brokers' certificates, as a worker needs.

All other connections use the Kafka client in C.  When Python rejects a certificate that the C
client accepts, the worker only logs it, and fails as if no broker were reachable.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping

from streams.errors import SettingsError, TlsFailed
from streams.settings.addresses import Address
from streams.settings.kafka_security import tls_context

_TIMEOUT_S = 5.0


def check_trust(bootstrap: str, security: Mapping[str, str]) -> None:
    """Raise TlsFailed for a certificate that Python rejects.

    It checks the first broker that answers, and returns when none does.
    """
    context = tls_context(security)
    if context is None:
        return
    for address in bootstrap.split(","):
        try:
            return _shake_hands(Address.parse(address.strip()), context)
        except ssl.SSLCertVerificationError as exc:
            raise TlsFailed(f"no TLS with Kafka: {exc}") from exc
        except (OSError, SettingsError):
            continue


def _shake_hands(address: Address, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection(address, _TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=address.host),
    ):
        pass
