-- verdicts: sap.acks
SELECT
  'sap' AS protocol, split_part(position, '/', 1) AS topic, position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM sap_acks;

-- tasks: sap.task-states
SELECT
  'sap' AS protocol, taskId AS task_id, correlationId AS session_id,
  issuer.agentId AS requester, producer.agentId AS worker, target.capability AS kind,
  state, lastRule AS rule, acceptedAt AS created_at, updatedAt AS updated_at,
  closedAt AS closed_at, seconds(closedAt, acceptedAt) AS duration_s
FROM sap_task_states;

-- budgets: sap.task-states
SELECT
  'sap' AS protocol, taskId AS id, 'seconds' AS unit, CAST(budget.seconds AS DOUBLE) AS limit_value,
  seconds(closedAt, acceptedAt) AS used,
  seconds(closedAt, acceptedAt) > budget.seconds AS exceeded
FROM sap_task_states
WHERE budget.seconds IS NOT NULL
UNION ALL
SELECT 'sap', taskId, 'tokens', CAST(budget.tokens AS DOUBLE), NULL, NULL
FROM sap_task_states
WHERE budget.tokens IS NOT NULL;

-- cache: sap.cache, sap.verdicts
SELECT
  c.cacheKey AS cache_key, c.version, c.capability, c.territory,
  CAST(c.storedAt AS TIMESTAMPTZ) AS stored_at, c.alignment, c.producer, c.taskId AS task_id,
  (
    SELECT count(*) FROM sap_verdicts h
    WHERE h.verdict = 'hit' AND h.cacheKey = c.cacheKey AND h.version = c.version
  ) AS hits
FROM sap_cache c
SEMI JOIN (
  SELECT cacheKey, version, recordSha256 FROM sap_verdicts WHERE verdict = 'stored'
) stored USING (cacheKey, version, recordSha256);
