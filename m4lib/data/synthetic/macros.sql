-- Randomness without state: a value depends only on the seed, a salt and up to two numbers, so it is the same for any
-- order of evaluation and any number of rows around it. {seed} is the only thing filled in.
-- The outer hash matters: DuckDB combines several arguments by exclusive-or with the last one, which would tie draws that
-- differ only in b to each other.
CREATE MACRO h(salt, a, b) AS hash(hash({seed}::BIGINT, salt, a::BIGINT, b::BIGINT));
-- uniform in [0, 1)
CREATE MACRO u(salt, a, b) AS (h(salt, a, b) >> 11)::DOUBLE * 1.1102230246251565e-16;
-- about standard normal, within +-3.5: the sum of the hash's four 16-bit parts
CREATE MACRO z(salt, a, b) AS (
    ((h(salt, a, b) & 65535) + ((h(salt, a, b) >> 16) & 65535) + ((h(salt, a, b) >> 32) & 65535)
     + (h(salt, a, b) >> 48))::DOUBLE / 65536.0 - 2.0) * 1.7320508;
CREATE MACRO clamp(x, low, high) AS greatest(low, least(high, x));
-- element of a list for x in [0, 1)
CREATE MACRO pick(items, x) AS items[1 + floor(x * len(items))::BIGINT];
-- whole seconds since 1970 to a timestamp
CREATE MACRO ts(seconds) AS make_timestamp(seconds::BIGINT * 1000000);
-- a number as it stands in a CSV file: without a trailing .0
CREATE MACRO num(x, digits) AS CASE WHEN digits = 0 THEN x::BIGINT::VARCHAR ELSE regexp_replace(x::VARCHAR, '\.0$', '') END;
-- split a catalog's `a|b|c`; NULL stays NULL
CREATE MACRO parts(x) AS string_split(x, '|');
CREATE MACRO edge_list(x) AS list_transform(string_split(x, '|'), e -> e::DOUBLE);
