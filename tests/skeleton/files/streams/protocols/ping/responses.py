"""What the routes of pings answer."""

from streams.gateway.responses import Row
from topology.ping import PING_STATES

RESPONSES = {"Ping": Row.of(PING_STATES)}
