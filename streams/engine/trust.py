"""Whether Python trusts the brokers, as it must for a worker.

All else goes through the Kafka client in C, which is content with certificates that Python refuses
from 3.13 on: those that are not as RFC 5280 has them.  aiokafka, which reads for workers, says why
only in the log, and fails as though no broker were there.
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
    """Raises TlsFailed for a certificate that Python refuses.

    Of the first broker that answers: whether any does is for others to say.
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
