"""Certificates for tests, from an authority of their own, as RFC 5280 has them.

OpenSSL's strict check (ssl.VERIFY_X509_STRICT, which Python 3.13 switches on) refuses a certificate
that does not name its issuer's key, and an authority whose own does not say what it may sign.
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_NO_USAGE = dict.fromkeys(
    (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ),
    False,
)
_SIGNS_CERTIFICATES = x509.KeyUsage(**_NO_USAGE | {"key_cert_sign": True, "crl_sign": True})
_SIGNS_HANDSHAKES = x509.KeyUsage(**_NO_USAGE | {"digital_signature": True})
_EITHER_SIDE = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)


class Authority:
    """A certificate authority of one's own.  ca: the file that others trust it by."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _named(f"test {name}")
        certificate = (
            self._builder(self._subject, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS_CERTIFICATES, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca = folder / f"{name}.pem"
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        public_key = key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )

    def issue(
        self,
        name: str,
        address: str = "127.0.0.1",
        *,
        host: str | None = None,
        name_issuer_key: bool = True,
    ) -> Path:
        """A file with a private key and its certificate, for an address or a host."""
        key = ec.generate_private_key(ec.SECP256R1())
        owner = (
            x509.IPAddress(ipaddress.ip_address(address)) if host is None else x509.DNSName(host)
        )
        addresses = x509.SubjectAlternativeName([owner])
        builder = (
            self._builder(_named(name), key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_SIGNS_HANDSHAKES, critical=True)
            .add_extension(_EITHER_SIDE, critical=False)
            .add_extension(addresses, critical=False)
        )
        if name_issuer_key:
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            builder = builder.add_extension(issuer, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        path = self._folder / f"{name}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
