-- verdicts: asap.events
SELECT
  'asap' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM asap_events
WHERE verdict IS NOT NULL;

-- tasks: asap.tasks
SELECT
  'asap' AS protocol, task_id, conversation_id AS session_id, requester, worker, skill_id AS kind,
  status AS state, error_code AS rule, created_at, updated_at,
  CASE WHEN status IN ('completed', 'failed', 'cancelled', 'rejected') THEN updated_at END
    AS closed_at,
  seconds(closed_at, created_at) AS duration_s
FROM asap_tasks;

-- states: asap.events
SELECT
  'asap' AS protocol, task_id AS id, conversation_id AS session_id, status AS state, "at",
  _offset AS place
FROM asap_events
WHERE task_id IS NOT NULL AND status IS NOT NULL AND (verdict IS NULL OR verdict = 'accepted');
