"""A broker that asks for TLS and a login, and allows only what ACLs say; made for one module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from streams.ops.broker import network, running_broker
from streams.settings import Settings
from tests.authority import Authority

USERS = ("service", "gateway", "alice", "bob", "olga")
LOGIN = "org.apache.kafka.common.security"


class SecureBroker(NamedTuple):
    """plain: for whoever sets the broker up, who may do all.  secure: asks for a login over TLS.

    mutual: asks for a certificate instead.
    """

    plain: str
    secure: str
    mutual: str
    authority: Authority

    def login(self, user: str, password: str | None = None) -> dict[str, str]:
        """The settings of a user, without HEADRACE_."""
        return {
            "BOOTSTRAP": self.secure,
            "SECURITY_PROTOCOL": "SASL_SSL",
            "SECURITY_SASL_MECHANISM": "PLAIN",
            "SECURITY_SASL_USERNAME": user,
            "SECURITY_SASL_PASSWORD": password or password_of(user),
            "SECURITY_SSL_CA_LOCATION": str(self.authority.ca),
        }

    @contextmanager
    def denied(self, user: str, kind: str, name: str, operation: str) -> Iterator[None]:
        """Inside, a user may not do that, whatever else ACLs say."""
        what = (ResourceType[kind], name, ResourcePatternType.LITERAL, f"User:{user}", "*")
        how = (AclOperation[operation], AclPermissionType.DENY)
        admin = AdminClient({"bootstrap.servers": self.plain})
        for made in admin.create_acls([AclBinding(*what, *how)]).values():
            made.result(60)
        try:
            yield
        finally:
            for gone in admin.delete_acls([AclBindingFilter(*what, *how)]).values():
                gone.result(60)

    def add_scram_user(self, user: str, password: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.plain})
        made = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(user, made, password.encode())
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(60)


def password_of(user: str) -> str:
    return f"{user}-secret"


@contextmanager
def secure_broker(folder: Path) -> Iterator[SecureBroker]:
    authority = Authority(folder)
    plain, controller, secure, mutual = network.pick_ports((), 4)
    addresses = {
        "CLIENTS": f"127.0.0.1:{plain}",
        "SECURE": f"127.0.0.1:{secure}",
        "MUTUAL": f"127.0.0.1:{mutual}",
    }
    listened = ",".join(f"{name}://{address}" for name, address in addresses.items())
    stores = {
        "keystore.type": "PEM",
        "keystore.location": str(authority.issue("broker")),
        "truststore.type": "PEM",
        "truststore.location": str(authority.ca),
    }
    users = " ".join(f'user_{user}="{password_of(user)}"' for user in USERS)
    config = {
        "listeners": f"{listened},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listened,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": (
            "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.secure.plain.sasl.jaas.config": (
            f"{LOGIN}.plain.PlainLoginModule required {users};"
        ),
        "listener.name.secure.scram-sha-512.sasl.jaas.config": (
            f"{LOGIN}.scram.ScramLoginModule required;"
        ),
        **{
            f"listener.name.{name}.ssl.{key}": value
            for name in ("secure", "mutual")
            for key, value in stores.items()
        },
    }
    settings = Settings().assign({"STATE_DIR": str(folder / "broker"), "BROKER_PORT": str(plain)})
    with running_broker(settings, config=config) as bootstrap:
        assert bootstrap == addresses["CLIENTS"]
        yield SecureBroker(bootstrap, addresses["SECURE"], addresses["MUTUAL"], authority)
