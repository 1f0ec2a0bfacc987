-- eicu-gcs, derived from the instruction and the skill gcs-calculation as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH n AS (SELECT patientunitstayid AS pid, nursingchartoffset AS t, nursingchartcelltypevallabel, nursingchartcelltypevalname, CASE WHEN REGEXP_FULL_MATCH(nursingchartvalue, '\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*') THEN ROUND(TRY_CAST(TRIM(nursingchartvalue) AS DOUBLE) * 1000) / 1000 END AS v
  FROM eicu_crd.nursecharting WHERE nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions') AND nursingchartcelltypevallabel IN ('Glasgow coma score', 'Score (Glasgow Coma Scale)')),
r AS (SELECT pid, t, MIN(CASE WHEN ((nursingchartcelltypevallabel = 'Glasgow coma score' AND nursingchartcelltypevalname = 'GCS Total') OR (nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)' AND nursingchartcelltypevalname = 'Value')) THEN v END) AS tot,
    MIN(CASE WHEN nursingchartcelltypevallabel = 'Glasgow coma score' AND nursingchartcelltypevalname = 'Motor' THEN v END) AS motor,
    MIN(CASE WHEN nursingchartcelltypevallabel = 'Glasgow coma score' AND nursingchartcelltypevalname = 'Verbal' THEN v END) AS verbal,
    MIN(CASE WHEN nursingchartcelltypevallabel = 'Glasgow coma score' AND nursingchartcelltypevalname = 'Eyes' THEN v END) AS eyes
  FROM n GROUP BY pid, t HAVING tot IS NOT NULL OR motor IS NOT NULL OR verbal IS NOT NULL OR eyes IS NOT NULL),
r2 AS (SELECT pid, t, motor, verbal, eyes, CASE WHEN tot > 2 AND tot < 16 THEN tot ELSE COALESCE(eyes, 4) + COALESCE(motor, 6) + COALESCE(verbal, 5) END AS total
  FROM r WHERE t >= -360 AND t <= 1440
  QUALIFY ROW_NUMBER() OVER (PARTITION BY pid ORDER BY total ASC, t ASC) = 1)
SELECT p.patientunitstayid, p.uniquepid, p.patienthealthsystemstayid, COALESCE(total, 15) AS gcs_min, COALESCE(motor, 6) AS gcs_motor, COALESCE(verbal, 5) AS gcs_verbal, COALESCE(eyes, 4) AS gcs_eyes
FROM eicu_crd.patient p LEFT JOIN r2 ON r2.pid = p.patientunitstayid
