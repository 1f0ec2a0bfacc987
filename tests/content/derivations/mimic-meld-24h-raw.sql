-- mimic-meld-24h-raw, derived from the instruction and the skill meld-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH chem AS (
  SELECT specimen_id, max(charttime) AS charttime, max(hadm_id) AS hadm_id, max(subject_id) AS subject_id,
         max(CASE WHEN itemid = 50912 AND valuenum <= 150 THEN valuenum END) AS creatinine,
         max(CASE WHEN itemid = 50983 AND valuenum <= 200 THEN valuenum END) AS sodium
  FROM mimiciv_hosp.labevents
  WHERE itemid IN (50862, 50930, 50976, 50868, 50882, 51006, 50893, 50902, 50912, 50931, 50983, 50971) AND (valuenum > 0 OR (itemid = 50868 AND valuenum IS NOT NULL))
  GROUP BY specimen_id
), coag AS (
  SELECT specimen_id, max(charttime) AS charttime, max(hadm_id) AS hadm_id, max(subject_id) AS subject_id,
         max(CASE WHEN itemid = 51237 THEN valuenum END) AS inr
  FROM mimiciv_hosp.labevents
  WHERE itemid IN (51196, 51214, 51297, 51237, 51274, 51275) AND valuenum IS NOT NULL
  GROUP BY specimen_id
), enz AS (
  SELECT specimen_id, max(charttime) AS charttime, max(hadm_id) AS hadm_id, max(subject_id) AS subject_id,
         max(CASE WHEN itemid = 50885 THEN valuenum END) AS bilirubin
  FROM mimiciv_hosp.labevents
  WHERE itemid IN (50861, 50863, 50878, 50867, 50885, 50883, 50884, 50910, 50911, 50927, 50954) AND valuenum > 0
  GROUP BY specimen_id
),
c AS (SELECT i.stay_id, max(l.creatinine) AS creatinine, min(l.sodium) AS sodium FROM mimiciv_icu.icustays i
      JOIN chem l ON l.subject_id = i.subject_id AND l.charttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR GROUP BY 1),
g AS (SELECT i.stay_id, max(l.inr) AS inr FROM mimiciv_icu.icustays i
      JOIN coag l ON l.subject_id = i.subject_id AND l.charttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR GROUP BY 1),
e AS (SELECT i.stay_id, max(l.bilirubin) AS bilirubin FROM mimiciv_icu.icustays i
      JOIN enz l ON l.subject_id = i.subject_id AND l.charttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR GROUP BY 1),
dial AS (
  SELECT i.stay_id FROM mimiciv_icu.icustays i JOIN mimiciv_icu.chartevents x ON x.stay_id = i.stay_id
  WHERE x.itemid IN (226499, 224154, 225183, 227438, 224191, 228004, 228005, 228006, 224144, 224145, 224153, 226457, 224149, 224150, 224151, 224152, 224146, 225956, 225958, 225976, 225977, 227290, 226118, 227357, 225725, 224404, 224406, 224135, 224139, 225323, 225740, 225776, 225954, 227124, 227753, 225806, 225807, 225810, 225959, 227639, 225951, 225952, 227638, 225953, 225961, 227640, 225963, 225965)
    AND x.value IS NOT NULL AND x.charttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR
  UNION
  SELECT i.stay_id FROM mimiciv_icu.icustays i JOIN mimiciv_icu.inputevents x ON x.stay_id = i.stay_id
  WHERE x.itemid IN (227536, 227525) AND x.amount > 0 AND x.starttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR
  UNION
  SELECT i.stay_id FROM mimiciv_icu.icustays i JOIN mimiciv_icu.procedureevents x ON x.stay_id = i.stay_id
  WHERE x.itemid IN (225441, 225802, 225803, 225805, 225809, 225955, 224270, 225436) AND x.value IS NOT NULL AND x.starttime BETWEEN i.intime - INTERVAL 6 HOUR AND i.intime + INTERVAL 24 HOUR
),
inputs AS (
  SELECT i.subject_id, i.hadm_id, i.stay_id, c.creatinine, c.sodium, g.inr, e.bilirubin,
         CASE WHEN d.stay_id IS NOT NULL THEN 1 END AS rrt
  FROM mimiciv_icu.icustays i
  LEFT JOIN c ON c.stay_id = i.stay_id LEFT JOIN g ON g.stay_id = i.stay_id
  LEFT JOIN e ON e.stay_id = i.stay_id LEFT JOIN dial d ON d.stay_id = i.stay_id
),
terms AS (
  SELECT *,
         CASE WHEN rrt = 1 OR creatinine > 4.0 THEN 0.957::DOUBLE * ln(4::DOUBLE)
              WHEN creatinine < 1 OR creatinine IS NULL THEN 0::DOUBLE
              ELSE 0.957::DOUBLE * ln(creatinine) END AS t_cr,
         CASE WHEN bilirubin < 1 OR bilirubin IS NULL THEN 0::DOUBLE
              ELSE 0.378::DOUBLE * ln(bilirubin) END AS t_bili,
         CASE WHEN inr < 1 OR inr IS NULL THEN 0.643::DOUBLE
              ELSE 1.120::DOUBLE * ln(inr) + 0.643::DOUBLE END AS t_inr,
         CASE WHEN sodium IS NULL OR sodium > 137 THEN 0::DOUBLE
              WHEN sodium < 125 THEN 12::DOUBLE
              ELSE 137 - sodium END AS t_na
  FROM inputs
), initial AS (
  SELECT *, CASE WHEN t_cr + t_bili + t_inr > 4 THEN 40::DOUBLE
                 ELSE round(round((t_cr + t_bili + t_inr) * 1000) / 1000 * 10) / 10 * 10 END AS m0
  FROM terms
)
SELECT subject_id, hadm_id, stay_id,
       CASE WHEN m0 > 11 THEN m0 + 1.32::DOUBLE * t_na - 0.033::DOUBLE * m0 * t_na ELSE m0 END AS meld
FROM initial
