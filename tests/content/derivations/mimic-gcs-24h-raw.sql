-- mimic-gcs-24h-raw, derived from the instruction and the skill gcs-calculation as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
g1 AS (
  SELECT subject_id, stay_id, charttime,
    MAX(CASE WHEN itemid = 223901 THEN valuenum END) AS motor,
    MAX(CASE WHEN itemid = 220739 THEN valuenum END) AS eyes,
    MAX(CASE WHEN itemid = 223900 THEN CASE WHEN value = 'No Response-ETT' THEN 0 ELSE valuenum END END) AS verbal,
    MAX(CASE WHEN itemid = 223900 AND value = 'No Response-ETT' THEN 1 ELSE 0 END) AS unable
  FROM mimiciv_icu.chartevents WHERE itemid IN (223901, 223900, 220739)
  GROUP BY subject_id, stay_id, charttime),
g2 AS (SELECT *, LAG(charttime) OVER w AS pt, LAG(motor) OVER w AS pm0, LAG(verbal) OVER w AS pv0, LAG(eyes) OVER w AS pe0
  FROM g1 WINDOW w AS (PARTITION BY stay_id ORDER BY charttime)),
g3 AS (SELECT subject_id, stay_id, charttime, motor, verbal, eyes, unable,
    CASE WHEN pt > charttime - INTERVAL 6 HOUR THEN pm0 END AS pm,
    CASE WHEN pt > charttime - INTERVAL 6 HOUR THEN pv0 END AS pv,
    CASE WHEN pt > charttime - INTERVAL 6 HOUR THEN pe0 END AS pe FROM g2),
gcs AS (SELECT subject_id, stay_id, charttime,
    CASE WHEN verbal = 0 THEN 15
         WHEN verbal IS NULL AND pv = 0 THEN 15
         WHEN pv = 0 THEN COALESCE(motor, 6) + COALESCE(verbal, 5) + COALESCE(eyes, 4)
         ELSE COALESCE(motor, pm, 6) + COALESCE(verbal, pv, 5) + COALESCE(eyes, pe, 4) END AS total,
    COALESCE(motor, pm) AS motor, COALESCE(verbal, pv) AS verbal, COALESCE(eyes, pe) AS eyes, unable FROM g3),
fg AS (SELECT icu.stay_id, x.total, x.motor, x.verbal, x.eyes, x.unable
  FROM icu JOIN gcs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY icu.stay_id ORDER BY x.total ASC NULLS LAST, x.charttime ASC NULLS LAST, x.motor ASC NULLS LAST, x.verbal ASC NULLS LAST, x.eyes ASC NULLS LAST, x.unable ASC NULLS LAST) = 1)
SELECT icu.subject_id, icu.hadm_id, icu.stay_id, COALESCE(fg.total, 15) AS gcs_min, COALESCE(fg.motor, 6) AS gcs_motor, COALESCE(fg.verbal, 5) AS gcs_verbal, COALESCE(fg.eyes, 4) AS gcs_eyes
FROM icu LEFT JOIN fg USING (stay_id)
