"""The tables of a sink's file (SAOP guide, 6.5)."""

from __future__ import annotations

FORMAT = "1"

TABLES = """
CREATE TABLE tasks (
    id TEXT NOT NULL,
    session_id TEXT,
    origin TEXT NOT NULL,
    state TEXT,
    head_hash TEXT,
    updated_sequence INTEGER,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX tasks_by_session ON tasks (session_id, origin, id);
CREATE INDEX tasks_by_id ON tasks (id, origin);

CREATE TABLE agent_logs (
    log_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('turn', 'event')),
    task_id TEXT,
    session_id TEXT,
    sequence INTEGER,
    turn_index INTEGER,
    agent_id TEXT,
    event_id TEXT,
    type TEXT,
    envelope_json TEXT,
    event_json TEXT,
    gap_json TEXT,
    recorded_at TEXT NOT NULL,
    topic TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "offset" INTEGER NOT NULL,
    UNIQUE (topic, "partition", "offset")
);
CREATE INDEX agent_logs_by_turn ON agent_logs (task_id, turn_index) WHERE kind = 'turn';
CREATE INDEX agent_logs_by_sequence ON agent_logs (session_id, sequence) WHERE kind = 'event';

CREATE TABLE sink_offsets (
    topic TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (topic, "partition")
);
CREATE TABLE sink_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE VIEW turns_in_order AS
    SELECT * FROM agent_logs WHERE kind = 'turn' ORDER BY task_id, turn_index;
"""

INSERT_LOG = """
INSERT INTO agent_logs (
    kind, task_id, session_id, sequence, turn_index, agent_id, event_id, type,
    envelope_json, event_json, gap_json, recorded_at, topic, "partition", "offset"
) VALUES (
    :kind, :task_id, :session_id, :sequence, :turn_index, :agent_id, :event_id, :type,
    :envelope_json, :event_json, :gap_json, :recorded_at, :topic, :partition, :offset
)
"""

TASK_OF_TURN = """
INSERT INTO tasks (id, session_id, origin, updated_at)
SELECT :id, NULL, '', :updated_at
WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = :id AND origin = '')
"""
"""Adds a task of which only turns are known; no transition has named its session yet."""

FORGET_TASK_OF_TURN = """
DELETE FROM tasks WHERE id = :id AND origin = '' AND session_id IS NULL
"""

MOVE_TASK = """
INSERT INTO tasks (id, session_id, origin, state, head_hash, updated_sequence, updated_at)
VALUES (:id, :session_id, :origin, :state, :head_hash, :updated_sequence, :updated_at)
ON CONFLICT (session_id, origin, id) DO UPDATE SET
    state = excluded.state,
    head_hash = coalesce(excluded.head_hash, head_hash),
    updated_sequence = excluded.updated_sequence,
    updated_at = excluded.updated_at
"""

SET_OFFSET = """
INSERT INTO sink_offsets (topic, "partition", next_offset) VALUES (?, ?, ?)
ON CONFLICT (topic, "partition") DO UPDATE SET next_offset = excluded.next_offset
"""
