"""The rules of pings."""

from schemas.rules import Rule, Stage, Where, rules_of

PING_SHAPE = Rule("ping_shape", "ping_id and sender are strings", Stage.SCHEMA, Where.EDGE)
PING_ANSWERED = Rule("ping_answered", "the ping is new", Stage.LOG, Where.PROCESSOR)
PING_REPEATED = Rule("ping_repeated", "the ping was answered", Stage.LOG, Where.PROCESSOR)
ALL = rules_of(dict(globals()))
