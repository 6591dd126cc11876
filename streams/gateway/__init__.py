"""The HTTP gateway: the routes over live views and Kafka."""

from streams.gateway.app import create_app
from streams.gateway.server import run_gateway

__all__ = ["create_app", "run_gateway"]
