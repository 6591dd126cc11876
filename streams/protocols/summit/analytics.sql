-- verdicts: summit.events
SELECT
  'summit' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM summit_events
WHERE verdict IN ('accepted', 'duplicate', 'rejected');

-- runs: summit.runs
SELECT
  runId AS run_id, kind, agentId AS agent_id, caller, traceId AS trace_id,
  parentRunId AS parent_run_id, toolName AS tool_name, state, reason, createdAt AS created_at,
  startedAt AS started_at, finishedAt AS finished_at, seconds(finishedAt, createdAt) AS duration_s,
  metrics.tokens AS tokens, exact(metrics.cost_usd) AS cost_usd, metrics.latency_ms AS latency_ms,
  provenance.model AS model, verificationStatus AS verification_status
FROM summit_runs;

-- budgets: summit.runs, summit.trees
SELECT
  'summit' AS protocol, r.runId AS id, unit, limit_value, used,
  used > limit_value AS exceeded
FROM summit_runs r
LEFT JOIN summit_trees t ON t.runId = r.runId
CROSS JOIN LATERAL (
  VALUES
    ('usd', r.budget.usd, CAST(coalesce(CAST(t.usd AS DECIMAL(38, 18)), exact(r.metrics.cost_usd))
      AS DOUBLE)),
    ('tokens', CAST(r.budget.tokens AS DOUBLE),
      CAST(coalesce(t.tokens, r.metrics.tokens) AS DOUBLE)),
    ('seconds', r.budget.seconds, seconds(r.finishedAt, r.createdAt))
) AS unit_of(unit, limit_value, used)
WHERE limit_value IS NOT NULL;

-- states: summit.events
SELECT
  'summit' AS protocol, runId AS id, NULL AS session_id, toState AS state, "at", _offset AS place
FROM summit_events
WHERE runId IS NOT NULL AND toState IS NOT NULL;
