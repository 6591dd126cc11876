"""`headrace rtes mask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import click

from streams.cli import common
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.masking import Block, Masker

ENDS = b"\r\n"


@click.command("mask")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--json", "as_json", is_flag=True, help='Print {"line", "masked"} for each line.')
def command(file: BinaryIO, as_json: bool) -> None:
    """Replace secrets in lines of text, offline, by the rules that the service applies.

    FILE defaults to standard input; each line is printed as soon as it is read.  The lines of a
    private key are recognised by the lines before them.  Bytes that are not UTF-8 are unchanged; in
    JSON they become \\xNN.  HEADRACE_MASK_KEY adds a fingerprint to each replacement.

    \b
    Example:
      headrace rtes mask build.log
    """
    from streams.masking.configured import masker_for

    masker = masker_for(Settings.load())
    out = click.get_binary_stream("stdout")
    block = None
    for read in iter(file.readline, b""):
        body = read.rstrip(ENDS)
        output, block = _mask_line(masker, body, block, as_json)
        out.write(output + (b"\n" if as_json else read[len(body) :]))
        out.flush()


def _mask_line(
    masker: Masker, body: bytes, block: Block | None, as_json: bool
) -> tuple[bytes, Block | None]:
    invalid = "backslashreplace" if as_json else "surrogateescape"
    line = body.decode("utf-8", invalid)
    masked, block = masker.pulse(line, block, common.now_ms())
    output = common.json_line({"line": masked, "masked": masked != line}) if as_json else masked
    return output.encode("utf-8", invalid), block
