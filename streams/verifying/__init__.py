"""A log verified: every command answered once, every verdict borne out, every row what the facts
come to."""

from streams.verifying.findings import Fault as Fault
from streams.verifying.findings import Finding as Finding
from streams.verifying.report import Report as Report
from streams.verifying.report import as_json as as_json
from streams.verifying.run import verify as verify
