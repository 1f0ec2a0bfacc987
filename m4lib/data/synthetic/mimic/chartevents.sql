-- Charted events: catalog items on the hourly grid, then the groups with rules of their own.
WITH item AS (
    SELECT itemid, unit, cadence, prob, mean, sd_stay, sd_row, sev, digits, 10.0 ** digits AS scale, low, high, edge_list(edges) AS edges,
        (CASE need WHEN 'vent' THEN 1 WHEN 'art' THEN 2 WHEN 'crrt' THEN 4 WHEN 'icp' THEN 8 WHEN 'hd' THEN 16 WHEN 'pd' THEN 32 ELSE 0 END) AS need
    FROM chart_numeric
), word AS (
    SELECT itemid, cadence, prob, parts(choices) AS choices,
        (CASE need WHEN 'vent' THEN 1 WHEN 'art' THEN 2 WHEN 'crrt' THEN 4 WHEN 'icp' THEN 8 WHEN 'hd' THEN 16 WHEN 'pd' THEN 32 ELSE 0 END) AS need
    FROM chart_text
), cadence AS (
    SELECT c.cadence, r.hour FROM (SELECT cadence FROM chart_numeric UNION SELECT cadence FROM chart_text) AS c, range(-16, 512) AS r(hour)
    WHERE r.hour % c.cadence = 0
), numeric_rows AS (
    -- twice: the second pass charts a few items again at the same time with another value
    SELECT g.subject_id, g.hadm_id, g.stay_id, g.key, g.at_s, i.itemid, i.unit, p.pass,
        CASE WHEN i.edges IS NOT NULL AND u('edge', g.key, i.itemid) < 0.012
             THEN pick(i.edges, u('edge', g.key, -i.itemid))
             ELSE round(i.scale * clamp(i.mean + i.sev * g.sev + i.sd_stay * z('stay', g.n, i.itemid)
                  + i.sd_row * z('row', g.key, i.itemid + p.pass), i.low, i.high)) / i.scale END AS number,
        i.digits
    FROM grid AS g JOIN cadence AS c ON g.hour = c.hour JOIN item AS i ON i.cadence = c.cadence,
        (VALUES (0, 1.0), (1000000, 0.006)) AS p(pass, share)
    WHERE (g.mask & i.need) = i.need AND u('charted', g.key, i.itemid + p.pass) < i.prob * p.share
), number_events AS (
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid,
        CASE WHEN u('blank', key, itemid + pass) < 0.002 THEN NULL WHEN number = floor(number) THEN number::BIGINT::VARCHAR ELSE number::VARCHAR END AS value,
        true AS is_number, unit
    FROM numeric_rows
), text_events AS (
    SELECT g.subject_id, g.hadm_id, g.stay_id, g.key, g.at_s, w.itemid,
        CASE WHEN u('blank', g.key, w.itemid) < 0.005 THEN NULL
             -- steady over a day, now and then another
             WHEN u('other', g.key, w.itemid + p.pass) < 0.15 THEN pick(w.choices, u('word', g.key, w.itemid))
             ELSE pick(w.choices, u('word', g.day, w.itemid)) END AS value,
        false AS is_number, NULL AS unit
    FROM grid AS g JOIN cadence AS c ON g.hour = c.hour JOIN word AS w ON w.cadence = c.cadence,
        (VALUES (0, 1.0), (1000000, 0.01)) AS p(pass, share)
    WHERE (g.mask & w.need) = w.need AND u('charted', g.key, w.itemid + p.pass) < w.prob * p.share
), conscious AS (
    SELECT *, clamp(cns + 0.16 * z('cns', key, 1), 0, 1) AS eye, clamp(cns + 0.16 * z('cns', key, 2), 0, 1) AS voice,
        clamp(cns + 0.16 * z('cns', key, 3), 0, 1) AS limb, (mask & 1) = 1 AS on_vent
    FROM grid WHERE hour % gcs_every = 0 AND u('gcs', key, 0) < 0.93
), gcs_codes AS (
    SELECT *,
        CASE WHEN eye < 0.35 THEN 4 WHEN eye < 0.55 THEN 3 WHEN eye < 0.75 THEN 2 ELSE 1 END AS eyes,
        CASE WHEN voice < 0.3 THEN 5 WHEN voice < 0.45 THEN 4 WHEN voice < 0.6 THEN 3 WHEN voice < 0.75 THEN 2 ELSE 1 END AS verbal,
        CASE WHEN limb < 0.45 THEN 6 WHEN limb < 0.6 THEN 5 WHEN limb < 0.7 THEN 4 WHEN limb < 0.8 THEN 3 WHEN limb < 0.9 THEN 2 ELSE 1 END AS motor
    FROM conscious
), gcs_events AS (
    SELECT subject_id, hadm_id, stay_id, key, at_s, 220739 AS itemid, ['None', 'To Pain', 'To Speech', 'Spontaneously'][eyes] AS value, eyes AS code
    FROM gcs_codes WHERE u('missing', key, 1) > 0.06
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 223900,
        CASE WHEN on_vent AND u('ett', key, 0) < 0.85 THEN 'No Response-ETT'
             ELSE ['No Response', 'Incomprehensible sounds', 'Inappropriate Words', 'Confused', 'Oriented'][verbal] END,
        CASE WHEN on_vent AND u('ett', key, 0) < 0.85 THEN 1 ELSE verbal END
    FROM gcs_codes WHERE u('missing', key, 2) > 0.06
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 223901,
        ['No response', 'Abnormal extension', 'Abnormal Flexion', 'Flex-withdraws', 'Localizes Pain', 'Obeys Commands'][motor], motor
    FROM gcs_codes WHERE u('missing', key, 3) > 0.06
), breathing AS (
    SELECT *,
        CASE state
            WHEN 'vent' THEN 'Endotracheal tube'
            WHEN 'trach' THEN pick(['Tracheostomy tube', 'Trach mask '], device)
            WHEN 'niv' THEN pick(['Bipap mask ', 'CPAP mask '], device)
            WHEN 'hfnc' THEN 'High flow nasal cannula'
            WHEN 'oxygen' THEN pick(['Nasal cannula', 'Nasal cannula', 'Nasal cannula', 'Face tent', 'Aerosol-cool', 'Non-rebreather',
                                     'Venti mask ', 'Medium conc mask ', 'Oxymizer', 'High flow neb', 'Ultrasonic neb', 'Vapomist'], device)
            WHEN 'none' THEN 'None'
            ELSE pick(['T-piece', 'Other', NULL], device) END AS mask_name
    FROM grid WHERE hour % resp_every = 0
), breathing_events AS (
    SELECT subject_id, hadm_id, stay_id, key, at_s, 226732 AS itemid, mask_name AS value, NULL::DOUBLE AS code
    FROM breathing WHERE u('device', key, 0) < 0.92
    UNION ALL  -- up to three more devices at the same time
    SELECT subject_id, hadm_id, stay_id, key, at_s, 226732, pick(['Nasal cannula', 'Face tent', 'Other', 'Bipap mask '], u('device', key, 2 + r.k)), NULL
    FROM breathing, (VALUES (10), (20), (30)) AS r(k) WHERE u('device', key, 3) < 0.6 / r.k
    UNION ALL  -- a device counts only beside a flow
    SELECT subject_id, hadm_id, stay_id, key, at_s, CASE WHEN state = 'niv' AND u('flow', key, 3) < 0.5 THEN 227582 ELSE 223834 END,
        (1 + (u('flow', key, 1) * 14)::BIGINT)::VARCHAR, 1 + (u('flow', key, 1) * 14)::BIGINT
    FROM breathing WHERE u('flow', key, 0) < 0.9
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 227287, (1 + (u('flow', key, 5) * 5)::BIGINT)::VARCHAR, 1 + (u('flow', key, 5) * 5)::BIGINT
    FROM breathing WHERE u('flow', key, 4) < 0.03
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 223849,
        CASE WHEN u('mode', key, 1) < 0.1 THEN pick(['Standby', 'CPAP', 'SPONT', 'Other'], u('mode', key, 2))
             ELSE pick(['CMV/ASSIST/AutoFlow', 'CPAP/PSV', 'CPAP/PSV', 'PCV+Assist', 'MMV/PSV/AutoFlow', 'CMV/ASSIST', 'SIMV/PSV', 'APRV', 'PSV/SBT', 'VOL/AC'], device) END, NULL
    FROM breathing WHERE state = 'vent' AND NOT hamilton AND u('mode', key, 0) < 0.85
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, 229314,
        CASE WHEN state = 'niv' THEN pick(['DuoPaP', 'NIV', 'NIV-ST'], device)
             WHEN u('mode', key, 1) < 0.15 THEN 'SPONT' ELSE pick(['APV (cmv)', 'P-CMV', 'ASV', 'APRV', '(S) CMV', 'APV (simv)', 'VS'], device) END, NULL
    FROM breathing WHERE hamilton AND state IN ('vent', 'niv') AND u('mode', key, 0) < 0.8
), body AS (
    SELECT s.*, p.weight, p.height, s.n * 1024 AS key FROM stay AS s JOIN subject AS p USING (j) WHERE NOT uncharted
), body_events AS (
    SELECT subject_id, hadm_id, stay_id, key, in_s + (u('weighed', n, 1) * 7200)::BIGINT - 1800 AS at_s, 226512 AS itemid, round(weight, 1) AS code, 'kg' AS unit
    FROM body WHERE u('weighed', n, 0) < 0.9
    UNION ALL  -- a second admission weight, corrected
    SELECT subject_id, hadm_id, stay_id, key + 1, in_s + 14400, 226512, round(weight * 1.03, 1), 'kg' FROM body WHERE u('weighed', n, 0) < 0.05
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, in_s + (u('weighed', n, 1) * 7200)::BIGINT - 1800, 226531, round(weight * 2.20462, 1), NULL
    FROM body WHERE u('weighed', n, 0) < 0.9
    UNION ALL
    SELECT g.subject_id, g.hadm_id, g.stay_id, g.key, g.at_s, 224639,
        CASE WHEN u('daily', g.key, 1) < 0.01 THEN 0 ELSE round(p.weight * (1 + 0.02 * z('daily', g.key, 2)), 1) END, 'kg'
    FROM grid AS g JOIN stay AS s ON s.n = g.n JOIN subject AS p ON p.j = s.j
    WHERE (g.hour % 24 = 6 AND u('daily', g.key, 0) < 0.75) OR (g.hour = -6 AND u('daily', g.key, 0) < 0.3)
    UNION ALL  -- inches and centimetres at one time, sometimes only one of them
    SELECT subject_id, hadm_id, stay_id, key, in_s + (u('tall', n, 1) * 5400)::BIGINT - 600, 226707, round(height / 2.54), 'Inch' FROM body WHERE u('tall', n, 0) < 0.8
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, in_s + (u('tall', n, 1) * 5400)::BIGINT - 600, 226730, round(height), 'cm'
    FROM body WHERE u('tall', n, 0) < 0.72 OR u('tall', n, 0) > 0.97
), other_events AS (
    -- what nothing asks for, which is most of a real table
    SELECT g.subject_id, g.hadm_id, g.stay_id, g.key, g.at_s, 290000 + r.k AS itemid, h('other', g.key, r.k) AS draw, r.k % 2 = 1 AS is_number
    FROM grid AS g, range(getvariable('other_items')) AS r(k)
), every_event AS (
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid, value, CASE WHEN is_number THEN value END AS valuenum, unit FROM number_events
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid, value, NULL, NULL FROM text_events
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid, value, code::VARCHAR, NULL FROM gcs_events
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid, value, CASE WHEN code IS NOT NULL THEN value END, CASE WHEN code IS NOT NULL THEN 'L/min' END
    FROM breathing_events
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid, num(code, 1), num(code, 1), unit FROM body_events
    UNION ALL
    SELECT subject_id, hadm_id, stay_id, key, at_s, itemid,
        CASE WHEN is_number THEN (draw % 900)::VARCHAR
             ELSE ['Normal', 'Intact', 'Within normal limits', 'Not applicable', 'Done', 'None', 'Clear', 'Warm'][1 + (draw % 8)::BIGINT] END,
        CASE WHEN is_number THEN (draw % 900)::VARCHAR END, CASE WHEN itemid % 4 = 1 THEN 'mmHg' END FROM other_events
)
SELECT subject_id, hadm_id, stay_id, 90000 + key % 997 AS caregiver_id, ts(at_s) AS charttime,
    ts(at_s + 60 * (key % 31)) AS storetime, itemid, value, valuenum, unit AS valueuom, (key % 61 = 0)::BIGINT AS warning
FROM every_event
