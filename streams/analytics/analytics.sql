-- edges: lineage.edges
SELECT
  edge_id, from_node, relation, to_node, "at" AS first_at, cause
FROM lineage_edges
QUALIFY row_number() OVER (PARTITION BY edge_id ORDER BY "at", _partition, _offset) = 1;

-- ancestors(start, max_depth := 10): edges
WITH RECURSIVE walk(node, distance) USING KEY (node) AS (
  SELECT unnest(spellings(start)), 0
  UNION
  SELECT e.to_node, min(w.distance) + 1
  FROM walk w
  JOIN edges e ON e.from_node = w.node
  ANTI JOIN recurring.walk seen ON seen.node = e.to_node
  WHERE w.distance < max_depth
  GROUP BY e.to_node
)
SELECT node, distance FROM walk;

-- descendants(start, max_depth := 10): edges
WITH RECURSIVE walk(node, distance) USING KEY (node) AS (
  SELECT unnest(spellings(start)), 0
  UNION
  SELECT e.from_node, min(w.distance) + 1
  FROM walk w
  JOIN edges e ON e.to_node = w.node
  ANTI JOIN recurring.walk seen ON seen.node = e.from_node
  WHERE w.distance < max_depth
  GROUP BY e.from_node
)
SELECT node, distance FROM walk;

-- states_at(ts): states
SELECT s.protocol, s.id, s.session_id, arg_max(s.state, (s."at", s.place)) AS state
FROM states s
WHERE s."at" <= ts
GROUP BY s.protocol, s.id, s.session_id;
