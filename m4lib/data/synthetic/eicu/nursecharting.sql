WITH item AS (
    SELECT *, 10.0 ** digits AS scale, edge_list(edges) AS list, CASE need WHEN 'art' THEN 1 WHEN 'celsius' THEN 2 WHEN 'map' THEN 4 ELSE 0 END AS flag FROM nurse_numeric
), cadence AS (
    SELECT c.cadence, r.hour FROM (SELECT DISTINCT cadence FROM nurse_numeric) AS c, range(-16, 1024) AS r(hour) WHERE r.hour % c.cadence = 0
), numbers AS (
    SELECT g.patientunitstayid, g.key, g.minutes, i.item, i.cat, i.label, i.name,
        CASE WHEN i.list IS NOT NULL AND u('edge', g.key, i.item) < 0.012 THEN pick(i.list, u('edge', g.key, -i.item))
             ELSE round(i.scale * clamp(i.mean + i.sev * g.sev + i.sd_stay * z('stay', g.n, i.item) + i.sd_row * z('row', g.key, i.item + p.pass), i.low, i.high)) / i.scale END AS number,
        p.pass
    FROM grid AS g JOIN cadence AS c ON c.hour = g.hour JOIN item AS i ON i.cadence = c.cadence, (VALUES (0, 1.0), (1000, 0.006)) AS p(pass, share)
    WHERE (g.mask & i.flag) = i.flag AND u('charted', g.key, i.item + p.pass) < i.prob * p.share
), number_rows AS (
    -- what nurses type instead of a number
    SELECT patientunitstayid, key, minutes, item + pass AS slot, cat, label, name,
        CASE WHEN u('odd', key, item + pass) < 0.004 THEN pick(['N/A', 'UTA', '', '37.0C', 'refused', '88/50', '> 100', '1e2'], u('odd', key, -item - pass))
             WHEN u('odd', key, item + pass) < 0.006 THEN ' ' || num(number, 1) || ' '
             ELSE num(number, 1) END AS value
    FROM numbers
), awake AS (
    SELECT *, clamp(cns + 0.15 * z('cns', key, 1), 0, 1) AS eye, clamp(cns + 0.15 * z('cns', key, 2), 0, 1) AS voice, clamp(cns + 0.15 * z('cns', key, 3), 0, 1) AS limb
    FROM grid WHERE hour % 4 = 0 AND u('gcs', key, 0) < 0.92 AND gcs_habit <> 'nothing'
), coma AS (
    SELECT *,
        CASE WHEN eye < 0.35 THEN 4 WHEN eye < 0.55 THEN 3 WHEN eye < 0.75 THEN 2 ELSE 1 END AS eyes,
        CASE WHEN voice < 0.3 THEN 5 WHEN voice < 0.45 THEN 4 WHEN voice < 0.6 THEN 3 WHEN voice < 0.75 THEN 2 ELSE 1 END AS verbal,
        CASE WHEN limb < 0.45 THEN 6 WHEN limb < 0.6 THEN 5 WHEN limb < 0.7 THEN 4 WHEN limb < 0.8 THEN 3 WHEN limb < 0.9 THEN 2 ELSE 1 END AS motor
    FROM awake
), coma_rows AS (
    SELECT c.patientunitstayid, c.key, c.minutes, 2000 + part.slot AS slot,
        CASE WHEN u('cat', c.key, part.slot) < 0.02 THEN 'Vital Signs' WHEN c.gcs_habit = 'score' THEN 'Other Vital Signs and Infusions' ELSE 'Scores' END AS cat,
        CASE WHEN c.gcs_habit = 'score' THEN 'Score (Glasgow Coma Scale)' ELSE 'Glasgow coma score' END AS label,
        CASE WHEN c.gcs_habit = 'score' THEN 'Value' ELSE part.name END AS name,
        CASE WHEN u('odd', c.key, 2000 + part.slot) < 0.008 THEN pick(['N/A', 'UTA', '3T', '13/15', '', 'Unable to score due to medication', '2', '16', '99'], u('odd', c.key, -2000 - part.slot))
             ELSE (CASE part.name WHEN 'GCS Total' THEN eyes + verbal + motor + CASE WHEN u('wrong', c.key, 0) < 0.02 THEN 1 ELSE 0 END
                   WHEN 'Eyes' THEN eyes WHEN 'Verbal' THEN verbal ELSE motor END)::VARCHAR END AS value
    FROM coma AS c, (VALUES ('GCS Total', 1), ('Eyes', 2), ('Verbal', 3), ('Motor', 4), ('GCS Total', 5)) AS part(name, slot)
    WHERE CASE c.gcs_habit WHEN 'both' THEN part.slot < 5 WHEN 'total' THEN part.slot = 1 WHEN 'score' THEN part.slot = 1 WHEN 'components' THEN part.slot IN (2, 3, 4) ELSE false END
        -- a second total at the same offset now and then, and single components missing
        AND u('part', c.key, part.slot) < CASE WHEN part.slot = 1 THEN 0.97 ELSE 0.93 END
        OR (c.gcs_habit IN ('both', 'total') AND part.slot = 5 AND u('part', c.key, 5) < 0.02)
), text_rows AS (
    SELECT patientunitstayid, key, minutes, 3001 AS slot, 'Vital Signs' AS cat, 'Temperature' AS label, 'Temperature Location' AS name,
        pick(['ORAL', 'AXILLARY', 'BLADDER', 'TEMPORAL'], u('site', n, 0)) AS value FROM grid WHERE hour % 4 = 0 AND u('site', key, 1) < 0.7
    UNION ALL SELECT patientunitstayid, key, minutes, 3002, 'Scores', 'Sedation Scale/Score/Goal', 'Sedation Scale', 'RASS' FROM grid WHERE hour % 4 = 0 AND u('rass', key, 1) < 0.3
    UNION ALL SELECT patientunitstayid, key, minutes, 3003, 'Other Vital Signs and Infusions', 'Best Motor Response', 'Value', 'Obeys commands' FROM grid WHERE hour % 8 = 0 AND u('best', key, 1) < 0.3
    UNION ALL SELECT patientunitstayid, key, minutes, 3004, 'Other Vital Signs and Infusions', 'Neurological Assessment', 'Value', 'WDL' FROM grid WHERE hour % 8 = 0 AND u('neuro', key, 1) < 0.3
), other_rows AS (
    SELECT g.patientunitstayid, g.key, g.minutes, 3100 + r.k AS slot, 'Other Vital Signs and Infusions' AS cat, 'Synthetic observation' AS label,
        'Observation ' || r.k AS name, ['WDL', 'Intact', 'Done', 'None'][1 + (h('other', g.key, r.k) % 4)::BIGINT] AS value
    FROM grid AS g, range(getvariable('other_nursing')) AS r(k)
), everything AS (
    SELECT * FROM number_rows UNION ALL SELECT * FROM coma_rows UNION ALL SELECT * FROM text_rows UNION ALL SELECT * FROM other_rows
)
SELECT key * 4096 + slot AS nursingchartid, patientunitstayid, minutes AS nursingchartoffset, minutes + CASE WHEN u('entry', key, slot) < 0.2 THEN 7 ELSE 0 END AS nursingchartentryoffset,
    cat AS nursingchartcelltypecat, label AS nursingchartcelltypevallabel, name AS nursingchartcelltypevalname, value AS nursingchartvalue
FROM everything
