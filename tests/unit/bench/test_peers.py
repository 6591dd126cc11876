"""What the peers need is pinned with hashes, apart from what headrace itself requires."""

from __future__ import annotations

import re

from tests.data.test_requirements import FILES, PROJECT, ROOT, names, pins

PEERS = "bench/peers.txt"


def test_every_requirement_of_the_peers_is_pinned_with_hashes() -> None:
    for line in pins(PEERS).values():
        assert re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line), line
    assert "://" not in (ROOT / PEERS).read_text()


def test_the_peers_run_headrace_s_processors_too() -> None:
    requirements = (ROOT / "bench/peers.in").read_text().splitlines()
    assert names([*PROJECT["dependencies"], *requirements]) <= set(pins(PEERS))


def test_headrace_requires_no_peer_but_its_host() -> None:
    assert "quixstreams" in pins(PEERS)
    for name in FILES:
        assert "quixstreams" not in pins(name)
