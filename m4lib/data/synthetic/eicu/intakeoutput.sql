WITH voids AS (
    SELECT *, greatest(0, (CASE WHEN u('uo', n, 1) < 0.06 THEN 260 WHEN u('uo', n, 1) < 0.16 THEN 8 ELSE 75 END) * exp(0.5 * z('uo', n, 2)) * (1 - 0.85 * aki) * exp(0.4 * z('uo', key, 3))) AS rate
    FROM grid WHERE hour % urine_every = 0 AND u('uo', n, 0) < 0.85 AND u('uo', key, 4) < 0.9
), rows AS (
    SELECT patientunitstayid, key * 8 AS id, minutes, 'flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|' || label AS path, label, CASE WHEN u('uo', key, 5) < 0.01 THEN -50 WHEN u('uo', key, 5) < 0.02 THEN 0
        WHEN u('uo', key, 5) < 0.025 THEN NULL ELSE round(rate * urine_every) END AS number
    FROM (SELECT *, pick(getvariable('urine_labels'), CASE WHEN u('label', key, 0) < 0.1 THEN u('label', key, 1) ELSE u('label', n, 2) END) AS label FROM voids)
    UNION ALL
    SELECT patientunitstayid, key * 8 + 1, minutes, 'flowsheet|Flowsheet Cell Labels|I&O|Intake (ml)|Crystalloids (ml)|Continuous infusion meds', 'Continuous infusion meds', round(100 * u('in', key, 1)) FROM grid WHERE u('in', key, 0) < 0.4
    UNION ALL
    SELECT patientunitstayid, key * 8 + 2, minutes, 'flowsheet|Flowsheet Cell Labels|I&O|Weight|Bodyweight (kg)', 'Bodyweight (kg)', round(clamp(exp(4.35 + 0.22 * z('weight', n, 0)), 38, 240), 1) FROM grid WHERE hour % 24 = 6
)
SELECT id AS intakeoutputid, patientunitstayid, minutes AS intakeoutputoffset, 0 AS intaketotal, 0 AS outputtotal, 0 AS dialysistotal, 0 AS nettotal, minutes AS intakeoutputentryoffset, path AS cellpath, label AS celllabel,
    number AS cellvaluenumeric, num(number, 1) AS cellvaluetext
FROM rows
