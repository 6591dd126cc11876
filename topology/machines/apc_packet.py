"""The life of an APC packet.

A packet is judged, carried, used, and put away.  Judging is the first four states: it is a draft
until its identifiers are folded and its hashes taken; then its shape is judged, then the policy
of the phase it was sent in.  A packet that fails stays on record in the state that says which
judge refused it, and nobody receives it.

A packet that passes is routed.  ROUTED is the one state in which time counts: whoever asked for
acknowledgements waits here, and here alone can a packet expire.  The last acknowledgement (or
none being asked for) delivers it, and a delivered packet is applied at once, since what agents do
with it is not seen here.  APPLIED is where a packet waits for its verification if the sender
deferred it; a recipient's refusal, a failed evaluation and a lost arbitration also meet it here.

A verified packet is archived, by way of PROMOTED when it earned that.  A superseded one is
archived too: it was legal and delivered, and something better came.

Retraction is the exception to everything.  The sender may take back a packet in whatever state it
is, archived or refused or expired, so it is an edge of `*`.  Only RETRACTED itself is sealed: a
second retraction finds nothing to take back.

Source: APC guide, 4.1.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define

INIT = "init"
"""The event of the first entry in a history, from no state to DRAFT; not an edge."""


class PacketState(StrEnum):
    DRAFT = "DRAFT"
    NORMALIZED = "NORMALIZED"
    SCHEMA_VALIDATED = "SCHEMA_VALIDATED"
    POLICY_VALIDATED = "POLICY_VALIDATED"
    ROUTED = "ROUTED"
    DELIVERED = "DELIVERED"
    APPLIED = "APPLIED"
    VERIFIED = "VERIFIED"
    PROMOTED = "PROMOTED"
    SUPERSEDED = "SUPERSEDED"
    ARCHIVED = "ARCHIVED"
    REJECTED_SCHEMA = "REJECTED_SCHEMA"
    REJECTED_POLICY = "REJECTED_POLICY"
    EXPIRED = "EXPIRED"
    RETRACTED = "RETRACTED"


class PacketEvent(StrEnum):
    EMIT = "emit"
    SCHEMA_PASS = "schema_pass"
    SCHEMA_FAIL = "schema_fail"
    POLICY_PASS = "policy_pass"
    POLICY_FAIL = "policy_fail"
    ROUTE_SELECTED = "route_selected"
    DELIVERY_ACK = "delivery_ack"
    TTL_EXPIRED = "ttl_expired"
    CONSUMER_APPLY = "consumer_apply"
    VERIFICATION_PASS = "verification_pass"
    VERIFICATION_FAIL = "verification_fail"
    HIGHER_CONFLICT_RESOLUTION_ARRIVED = "higher_conflict_resolution_arrived"
    SUPERSESSION_RECORDED = "supersession_recorded"
    PROMOTION_ELIGIBLE = "promotion_eligible"
    NON_PROMOTABLE_COMPLETE = "non_promotable_complete"
    PERSISTED = "persisted"
    RETRACTION_PACKET_RECEIVED = "retraction_packet_received"


_S = PacketState
_E = PacketEvent

MACHINE = define(
    "apc-packet",
    _S.DRAFT,
    {
        _S.DRAFT: {_E.EMIT: _S.NORMALIZED},
        _S.NORMALIZED: {
            _E.SCHEMA_PASS: _S.SCHEMA_VALIDATED,
            _E.SCHEMA_FAIL: _S.REJECTED_SCHEMA,
        },
        _S.SCHEMA_VALIDATED: {
            _E.POLICY_PASS: _S.POLICY_VALIDATED,
            _E.POLICY_FAIL: _S.REJECTED_POLICY,
        },
        _S.POLICY_VALIDATED: {_E.ROUTE_SELECTED: _S.ROUTED},
        _S.ROUTED: {
            _E.DELIVERY_ACK: _S.DELIVERED,
            _E.TTL_EXPIRED: _S.EXPIRED,
        },
        _S.DELIVERED: {_E.CONSUMER_APPLY: _S.APPLIED},
        _S.APPLIED: {
            _E.VERIFICATION_PASS: _S.VERIFIED,
            _E.VERIFICATION_FAIL: _S.REJECTED_POLICY,
            _E.HIGHER_CONFLICT_RESOLUTION_ARRIVED: _S.SUPERSEDED,
        },
        _S.VERIFIED: {
            _E.PROMOTION_ELIGIBLE: _S.PROMOTED,
            _E.NON_PROMOTABLE_COMPLETE: _S.ARCHIVED,
        },
        _S.PROMOTED: {_E.PERSISTED: _S.ARCHIVED},
        _S.SUPERSEDED: {_E.SUPERSESSION_RECORDED: _S.ARCHIVED},
        _S.ARCHIVED: {},
        _S.REJECTED_SCHEMA: {},
        _S.REJECTED_POLICY: {},
        _S.EXPIRED: {},
        _S.RETRACTED: {},
    },
    anywhere={_E.RETRACTION_PACKET_RECEIVED: _S.RETRACTED},
    sealed=frozenset({_S.RETRACTED}),
)
