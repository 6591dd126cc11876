-- verdicts: apc.events
SELECT 'apc' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM apc_events
WHERE verdict IN ('accepted', 'duplicate', 'rejected');

-- packets: apc.events
SELECT
  e.session_id, e.packet_id, e.packet.trace.run_id AS run_id, e.packet.trace.task_id AS task_id,
  e.packet.metadata_json ->> '$.project_id' AS project_id,
  e.packet_type, e.packet.run_phase AS run_phase, e.packet.trace.generation AS generation,
  e.packet.sender.agent_id AS sender_agent, e.packet.sender.swarm_id AS sender_swarm,
  e.packet.lineage.protocol_id AS protocol_id,
  e.packet.lineage.cross_use_case AS cross_use_case,
  e.packet.lineage.transfer_mode AS transfer_mode,
  last.state,
  last.state NOT IN ('REJECTED_SCHEMA', 'REJECTED_POLICY', 'EXPIRED', 'RETRACTED') AS counted,
  e."at" AS accepted_at, e.cause AS position,
  coalesce(e.trace_id, e.packet.trace.run_id) AS trace_id
FROM apc_events e
JOIN (
  SELECT f.session_id, f.packet_id, arg_max(f.state, f._offset) AS state
  FROM apc_events f
  WHERE f.verdict IN ('accepted', 'effect', 'fired') AND f.state IS NOT NULL
  GROUP BY f.session_id, f.packet_id
) last ON last.session_id = e.session_id AND last.packet_id = e.packet_id
WHERE e.verdict = 'accepted';

-- transfers: apc.events, packets
SELECT
  p.*,
  sent.transfer.from_swarm AS from_swarm, sent.transfer.to_swarm AS to_swarm,
  sent.transfer.transfer_policy.mode AS mode,
  exact(sent.transfer.sender_score) AS sender_score,
  exact(sent.transfer.receiver_score) AS receiver_score,
  sent.transfer.accepted AS taken, task.outcome_nano AS task_outcome_nano,
  task.drift_nano AS task_drift_nano
FROM packets p
JOIN (
  SELECT e.session_id, e.packet_id, e.packet.payload.TransferPayload AS transfer
  FROM apc_events e
  WHERE e.verdict = 'accepted' AND e.packet_type = 'TRANSFER'
) sent ON sent.session_id = p.session_id AND sent.packet_id = p.packet_id
LEFT JOIN (
  SELECT
    q.session_id, q.run_id, q.task_id,
    half_even(sum(nano(rated.metrics.outcome)), count(rated.metrics.outcome)) AS outcome_nano,
    half_even(sum(nano(rated.metrics.drift_risk)), count(rated.metrics.drift_risk)) AS drift_nano
  FROM packets q
  JOIN (
    SELECT e.session_id, e.packet_id, e.packet.payload.EvalPayload.metric_set AS metrics
    FROM apc_events e
    WHERE e.verdict = 'accepted' AND e.packet_type = 'EVAL'
  ) rated ON rated.session_id = q.session_id AND rated.packet_id = q.packet_id
  WHERE q.counted
  GROUP BY q.session_id, q.run_id, q.task_id
) task ON task.session_id = p.session_id AND task.run_id = p.run_id AND task.task_id = p.task_id;

-- protocols: apc.lineage
SELECT * EXCLUDE (_key, _partition, _offset, _timestamp, run_id)
FROM apc_lineage
WHERE run_id IS NULL;

-- states: apc.events
SELECT 'apc' AS protocol, packet_id AS id, session_id, state, "at", _offset AS place
FROM apc_events
WHERE packet_id IS NOT NULL AND state IS NOT NULL;

-- counted_transfers: transfers
SELECT
  t.protocol_id, t.session_id AS session, t.run_id AS run, t.task_id AS task,
  t.project_id AS project, t.taken
FROM transfers t
WHERE t.counted AND t.protocol_id IS NOT NULL;

-- counted_evaluations: apc.events, packets
SELECT
  p.session_id AS session, p.run_id AS run, p.task_id AS task, p.project_id AS project,
  nano(e.packet.payload.EvalPayload.metric_set.outcome) AS outcome_nano,
  nano(e.packet.payload.EvalPayload.metric_set.drift_risk) AS drift_nano
FROM packets p
JOIN apc_events e ON e.session_id = p.session_id AND e.packet_id = p.packet_id
WHERE p.counted AND e.verdict = 'accepted' AND e.packet_type = 'EVAL';

-- effectiveness(session_id := NULL, run_id := NULL, project_id := NULL): counted_transfers, counted_evaluations
WITH chosen AS (
  SELECT session_id AS session, run_id AS run, project_id AS project
), means AS (
  SELECT
    e.session, e.run, e.task,
    half_even(sum(e.outcome_nano), count(e.outcome_nano)) AS outcome_nano,
    half_even(sum(e.drift_nano), count(e.drift_nano)) AS drift_nano
  FROM counted_evaluations e CROSS JOIN chosen c
  WHERE c.project IS NULL OR e.project = c.project
  GROUP BY e.session, e.run, e.task
), sums AS (
  SELECT
    t.protocol_id, count(*) AS transfers, count(*) FILTER (t.taken) AS accepted,
    count(DISTINCT t.run) AS runs, count(DISTINCT (t.session, t.run, t.task)) AS tasks,
    count(m.outcome_nano) AS outcomes, sum(m.outcome_nano) AS outcome_nano,
    count(m.drift_nano) AS drifts, sum(m.drift_nano) AS drift_nano
  FROM counted_transfers t CROSS JOIN chosen c
  LEFT JOIN means m ON m.session = t.session AND m.run = t.run AND m.task = t.task
  WHERE (c.session IS NULL OR t.session = c.session)
    AND (c.run IS NULL OR t.run = c.run)
    AND (c.project IS NULL OR t.project = c.project)
  GROUP BY t.protocol_id
), baseline AS (
  SELECT
    sum(s.tasks * s.outcome_nano / s.outcomes) / sum(s.tasks) / 1e9 AS outcome,
    sum(s.tasks * s.drift_nano / s.drifts) / sum(s.tasks) / 1e9 AS drift
  FROM sums s
  WHERE s.outcomes > 0 AND s.drifts > 0
)
SELECT
  s.protocol_id, s.transfers AS transfer_count, s.accepted AS accepted_count,
  s.runs AS run_count, s.tasks AS task_count,
  six_places(s.outcome_nano, s.outcomes::HUGEINT * 1000000000) AS avg_outcome,
  six_places(s.drift_nano, s.drifts::HUGEINT * 1000000000) AS avg_drift_risk,
  six_places(s.accepted, s.transfers) AS acceptance_rate,
  round_even(s.outcome_nano / s.outcomes / 1e9 - b.outcome, 6) AS outcome_lift,
  round_even(s.drift_nano / s.drifts / 1e9 - b.drift, 6) AS drift_risk_delta,
  -- Exact up to a few million transfers of one protocol; beyond, the product is too large.
  coalesce(
    TRY(six_places(
      50 * s.accepted::HUGEINT * greatest(s.outcomes, 1) * greatest(s.drifts, 1) * 1000000000
        + 35 * coalesce(s.outcome_nano, 0) * s.transfers * greatest(s.drifts, 1)
        + 15 * (greatest(s.drifts, 1)::HUGEINT * 1000000000 - coalesce(s.drift_nano, 1000000000))
          * s.transfers * greatest(s.outcomes, 1),
      s.transfers::HUGEINT * greatest(s.outcomes, 1) * greatest(s.drifts, 1) * 100000000000
    )),
    round_even(
      0.5 * s.accepted / s.transfers + 0.35 * coalesce(s.outcome_nano / s.outcomes / 1e9, 0)
        + 0.15 * (1 - coalesce(s.drift_nano / s.drifts / 1e9, 1)),
      6
    )
  ) AS effectiveness_score
FROM sums s CROSS JOIN baseline b
ORDER BY effectiveness_score DESC, s.protocol_id;
