-- mimic-meld-24h, derived from the instruction and the skill meld-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH inputs AS (
  SELECT i.subject_id, i.hadm_id, i.stay_id, l.creatinine_max AS creatinine, l.sodium_min AS sodium, l.inr_max AS inr,
         l.bilirubin_total_max AS bilirubin, r.dialysis_present AS rrt
  FROM mimiciv_icu.icustays i
  LEFT JOIN mimiciv_derived.first_day_lab l ON l.stay_id = i.stay_id
  LEFT JOIN mimiciv_derived.first_day_rrt r ON r.stay_id = i.stay_id
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
