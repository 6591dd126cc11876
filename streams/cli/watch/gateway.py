"""The gateway that is watched, wherever it answers at the time."""

from __future__ import annotations

from typing import Any

from streams.cli import common, gateway_client
from streams.errors import GatewayUnavailable
from streams.settings import Settings

_ADVICE = "Start one with `headrace up`, or name one with --gateway URL."


class WatchedGateway:
    """Reads routes of the gateway; each request looks for it again unless the user named it.

    Create it in the thread of the command, whose options name the gateway.
    url: of the gateway that answered last.
    """

    def __init__(self, settings: Settings) -> None:
        choices = gateway_client.candidates(settings)
        self.settings = settings
        self._named = [choice for choice in choices if choice.named]
        self.url = choices[0].url if choices else ""

    def get(self, path: str, **params: Any) -> Any:
        """Return the body of a read route.

        Raises GatewayUnavailable when none answers, and the error of a problem.
        """
        query = common.query_of(params)
        reasons = []
        for choice in self._named or gateway_client.candidates(self.settings):
            answer = gateway_client.get(choice, path, query, self.settings)
            if isinstance(answer, gateway_client.NoGateway):
                reasons.append(answer.reason)
                continue
            self.url = choice.url
            if answer.status != 200:
                raise common.error_of_problem(answer.status, answer.body)
            return answer.body
        reason = next(filter(None, reasons), "")
        raise GatewayUnavailable(reason or "no gateway answers", advice=_ADVICE)
