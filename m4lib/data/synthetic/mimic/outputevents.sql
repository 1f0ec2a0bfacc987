WITH share AS (
    SELECT itemid, sum(share) OVER (ORDER BY itemid DESC) / sum(share) OVER () AS upto,
        (sum(share) OVER (ORDER BY itemid DESC) - share) / sum(share) OVER () AS above
    FROM outputs
), voids AS (
    SELECT *, u('uo', n, 0) AS way,
        -- mL an hour: less with a failing kidney, some stays hardly any, some a flood
        greatest(0, (CASE WHEN u('uo', n, 1) < 0.06 THEN 260 WHEN u('uo', n, 1) < 0.16 THEN 8 ELSE 75 END)
            * exp(0.5 * z('uo', n, 2)) * (1 - 0.85 * aki) * exp(0.4 * z('uo', key, 3))) AS rate
    FROM grid WHERE hour % urine_every = 0 AND u('uo', key, 4) < 0.93
), events AS (
    SELECT v.subject_id, v.hadm_id, v.stay_id, v.key, v.at_s, s.itemid,
        CASE WHEN u('uo', v.key, 5) < 0.003 THEN NULL WHEN u('uo', v.key, 5) < 0.02 THEN 0 ELSE round(v.rate * v.urine_every / 5) * 5 END AS value
    FROM voids AS v JOIN share AS s ON v.way >= s.above AND v.way < s.upto
    UNION ALL  -- a second way at the same time
    SELECT subject_id, hadm_id, stay_id, key, at_s, 226560, round(rate / 2) FROM voids WHERE u('uo', key, 6) < 0.02
    UNION ALL  -- charted 20 and 40 minutes later
    SELECT subject_id, hadm_id, stay_id, key, at_s + 1200 * r.k, 226559, 10 * r.k FROM voids, (VALUES (1), (2)) AS r(k) WHERE u('uo', n, 7) < 0.01
    UNION ALL  -- irrigation in and out; a few volumes in are charted as negative
    SELECT subject_id, hadm_id, stay_id, key, at_s, r.itemid, CASE WHEN r.itemid = 227488 AND u('uo', key, 9) < 0.05 THEN -300 ELSE r.volume END
    FROM voids, (VALUES (227488, 300), (227489, 380)) AS r(itemid, volume) WHERE u('uo', n, 8) < 0.02
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 226588, round(20 + 30 * u('drain', key, 1)) FROM voids WHERE u('drain', n, 0) < 0.1
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 226579, round(200 * u('stool', key, 1)) FROM voids WHERE u('stool', key, 0) < 0.02
)
SELECT subject_id, hadm_id, stay_id, 90000 + key % 997 AS caregiver_id, ts(at_s) AS charttime, ts(at_s + 600) AS storetime, itemid, value::BIGINT AS value, 'mL' AS valueuom
FROM events
