-- mimic-creatinine-baseline, derived from the instruction and the skill baseline-creatinine as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH ages AS (SELECT subject_id, hadm_id, age FROM mimiciv_derived.age),
scr AS (SELECT hadm_id, min(creatinine) AS scr_min FROM mimiciv_derived.chemistry WHERE hadm_id IS NOT NULL GROUP BY 1),
ckd AS (
  SELECT DISTINCT hadm_id FROM mimiciv_hosp.diagnoses_icd
  WHERE (icd_version = 9 AND starts_with(icd_code, '585')) OR (icd_version = 10 AND starts_with(icd_code, 'N18'))
), x AS (
  SELECT g.hadm_id, p.gender, g.age, s.scr_min,
         CASE WHEN k.hadm_id IS NOT NULL THEN 1 ELSE 0 END AS ckd,
         pow(CASE WHEN p.gender = 'F' THEN 75::DOUBLE / 186 / pow(g.age, -0.203::DOUBLE) / 0.742::DOUBLE
                  ELSE 75::DOUBLE / 186 / pow(g.age, -0.203::DOUBLE) END, -1 / 1.154::DOUBLE) AS mdrd_est
  FROM ages g JOIN mimiciv_hosp.patients p ON p.subject_id = g.subject_id
  LEFT JOIN scr s ON s.hadm_id = g.hadm_id LEFT JOIN ckd k ON k.hadm_id = g.hadm_id
  WHERE g.age >= 18
)
SELECT hadm_id, gender, age, scr_min, ckd, mdrd_est,
       CASE WHEN scr_min <= 1.1::DOUBLE THEN scr_min WHEN ckd = 1 THEN scr_min ELSE mdrd_est END AS scr_baseline
FROM x
