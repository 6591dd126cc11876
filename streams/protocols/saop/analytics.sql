-- verdicts: saop.verdicts
SELECT
  'saop' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM saop_verdicts;

-- verdicts: saop.rewind-log
SELECT
  'saop' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM saop_rewind_log
WHERE phase <> 'lapse';

-- verdicts: rtes.events
SELECT
  'rtes' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  recorded_at AS decided_at, _timestamp AS written_at,
  seconds(_timestamp, recorded_at) AS latency_s, 'accepted' AS verdict, rule, NULL AS fault,
  _principal AS principal, _trace_id AS trace_id
FROM rtes_events;

-- verdicts: rtes.rejections
SELECT
  'rtes' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM rtes_rejections;

-- tasks: saop.tasks
SELECT
  'saop' AS protocol, task_id, session_id, NULL AS requester, NULL AS worker, profile AS kind,
  state, NULL AS rule, first_at AS created_at, last_at AS updated_at, NULL AS closed_at,
  NULL AS duration_s
FROM saop_tasks
WHERE origin IS NULL OR origin = 'otel';

-- sessions: rtes.events
SELECT
  session_id, count(*) AS events, min(recorded_at) AS first_at, max(recorded_at) AS last_at,
  count(*) FILTER (payload.branch = 'ToolInvoked') AS tool_calls,
  count(*) FILTER (payload.ToolCompleted.status <> 'success') AS failed_calls
FROM rtes_events
GROUP BY session_id;

-- tool_calls: rtes.events
WITH invoked AS (
  SELECT
    session_id, payload.ToolInvoked.call_id AS call_id, origin, payload.ToolInvoked.tool AS tool,
    task_id, recorded_at, sequence
  FROM rtes_events
  WHERE payload.branch = 'ToolInvoked'
), completed AS (
  SELECT
    session_id, payload.ToolCompleted.call_id AS call_id, origin,
    payload.ToolCompleted.tool AS tool, payload.ToolCompleted.status AS status,
    payload.ToolCompleted.duration_ms AS duration_ms, task_id, recorded_at, sequence
  FROM rtes_events
  WHERE payload.branch = 'ToolCompleted'
)
SELECT
  session_id, call_id, coalesce(i.origin, c.origin) AS origin, coalesce(i.tool, c.tool) AS tool,
  c.status, coalesce(i.task_id, c.task_id) AS task_id, i.recorded_at AS started_at,
  c.recorded_at AS ended_at, c.duration_ms / 1000 AS duration_s
FROM (
  SELECT * FROM invoked QUALIFY row_number() OVER (
    PARTITION BY session_id, call_id ORDER BY sequence) = 1
) i
FULL JOIN (
  SELECT * FROM completed QUALIFY row_number() OVER (
    PARTITION BY session_id, call_id ORDER BY sequence) = 1
) c USING (session_id, call_id);

-- states: rtes.events
SELECT
  'saop' AS protocol, payload.TaskTransition.task_id AS id, session_id,
  payload.TaskTransition.to_state AS state, recorded_at AS "at", _offset AS place
FROM rtes_events
WHERE payload.branch = 'TaskTransition' AND (origin IS NULL OR origin = 'otel');
