-- verdicts: otel.events
SELECT
  'otel' AS protocol, split_part(cause, '/', 1) AS topic, cause AS position, _key AS key,
  "at" AS decided_at, _timestamp AS written_at, seconds(_timestamp, "at") AS latency_s,
  verdict, rule, fault, _principal AS principal, _trace_id AS trace_id
FROM otel_events;

-- spans: otel.events
SELECT
  trace_id, span_id, span.parent_span_id AS parent_span_id, session_id, type, agent, tool, model,
  provider, input_tokens, output_tokens, failed, started_at,
  seconds(ended_at, started_at) AS duration_s
FROM otel_events
WHERE verdict = 'accepted';
