-- Functions of the views.

-- The double as the decimal of its shortest spelling.
CREATE MACRO exact(number) AS CAST(CAST(number AS VARCHAR) AS DECIMAL(38, 18));

-- numerator / denominator, rounded half to even, of integers >= 0.
CREATE MACRO half_even(numerator, denominator) AS
  CASE WHEN denominator = 0 THEN NULL ELSE
    numerator::HUGEINT // denominator::HUGEINT + CASE
      WHEN 2 * (numerator::HUGEINT % denominator) > denominator THEN 1
      WHEN 2 * (numerator::HUGEINT % denominator) = denominator
        AND (numerator::HUGEINT // denominator::HUGEINT) % 2 = 1 THEN 1
      ELSE 0
    END
  END;

-- A number of 0 to 1 in units of 10^-9.
CREATE MACRO nano(number) AS half_even(
  CAST(replace(CAST(CAST(CAST(number AS VARCHAR) AS DECIMAL(38, 20)) AS VARCHAR), '.', '') AS HUGEINT),
  100000000000
);

-- numerator / denominator with 6 places.
CREATE MACRO six_places(numerator, denominator) AS
  CAST(half_even(numerator * 1000000::HUGEINT, denominator) AS DECIMAL(38, 0)) / 1e6;

-- The spellings of a node: a trace id with hyphens, as SAP writes it, and without, as W3C does.
CREATE MACRO spellings(node) AS
  CASE
    WHEN regexp_matches(node, '^trace:[0-9a-f]{32}$') THEN [node, regexp_replace(
      node, '^trace:(.{8})(.{4})(.{4})(.{4})(.{12})$', 'trace:\1-\2-\3-\4-\5')]
    WHEN regexp_matches(node, '^trace:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
      THEN [node, replace(node, '-', '')]
    ELSE [node]
  END;

-- Seconds between two times.
CREATE MACRO seconds(later, earlier) AS (epoch_ms(later) - epoch_ms(earlier)) / 1000;
