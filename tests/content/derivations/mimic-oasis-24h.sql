-- mimic-oasis-24h, derived from the instruction and the skill oasis-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
age AS (SELECT hadm_id, age FROM mimiciv_derived.age),
inv AS (SELECT stay_id, starttime, endtime FROM mimiciv_derived.ventilation WHERE ventilation_status = 'InvasiveVent'),
fv AS (SELECT stay_id, heart_rate_min AS hr_min, heart_rate_max AS hr_max, mbp_min, mbp_max, resp_rate_min AS rr_min, resp_rate_max AS rr_max, temperature_min AS temp_min, temperature_max AS temp_max, glucose_min, glucose_max FROM mimiciv_derived.first_day_vitalsign),
fg AS (SELECT stay_id, gcs_min AS total, gcs_motor AS motor, gcs_verbal AS verbal, gcs_eyes AS eyes, gcs_unable AS unable FROM mimiciv_derived.first_day_gcs),
fu AS (SELECT stay_id, urineoutput AS ml FROM mimiciv_derived.first_day_urine_output),
fdv AS (SELECT icu.stay_id FROM icu JOIN inv v ON v.stay_id = icu.stay_id
  WHERE v.starttime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR
     OR v.endtime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR
     OR (v.starttime <= icu.intime AND v.endtime >= icu.intime + INTERVAL 24 HOUR)
  GROUP BY icu.stay_id),
adm AS (SELECT icu.*, a.admission_type, EPOCH(icu.intime - a.admittime) / 60.0 AS pre FROM icu JOIN mimiciv_hosp.admissions a ON a.hadm_id = icu.hadm_id
  WHERE EXISTS (SELECT 1 FROM mimiciv_hosp.patients p WHERE p.subject_id = icu.subject_id)),
surg AS (SELECT icu.stay_id, icu.hadm_id FROM icu JOIN mimiciv_hosp.services s ON s.hadm_id = icu.hadm_id AND s.transfertime < icu.intime + INTERVAL 24 HOUR
  WHERE LOWER(s.curr_service) LIKE '%surg%' OR s.curr_service = 'ORTHO' GROUP BY 1, 2),
sc AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id,
    CASE WHEN pre IS NULL THEN 0 WHEN pre < 10.2 THEN 5 WHEN pre < 297 THEN 3 WHEN pre < 1440 THEN 0 WHEN pre < 18708 THEN 2 ELSE 1 END AS preiculos_score,
    CASE WHEN age < 24 THEN 0 WHEN age <= 53 THEN 3 WHEN age <= 77 THEN 6 WHEN age <= 89 THEN 9 WHEN age >= 90 THEN 7 ELSE 0 END AS age_score,
    CASE WHEN total <= 7 THEN 10 WHEN total < 14 THEN 4 WHEN total = 14 THEN 3 ELSE 0 END AS gcs_score,
    CASE WHEN hr_max > 125 THEN 6 WHEN hr_min < 33 THEN 4 WHEN hr_max >= 107 AND hr_max <= 125 THEN 3 WHEN hr_max >= 89 AND hr_max <= 106 THEN 1 ELSE 0 END AS heart_rate_score,
    CASE WHEN mbp_min < 20.65 THEN 4 WHEN mbp_min < 51 THEN 3 WHEN mbp_max > 143.44 THEN 3 WHEN mbp_min < 61.33 THEN 2 ELSE 0 END AS mbp_score,
    CASE WHEN rr_min < 6 THEN 10 WHEN rr_max > 44 THEN 9 WHEN rr_max > 30 THEN 6 WHEN rr_max > 22 THEN 1 WHEN rr_min < 13 THEN 1 ELSE 0 END AS resp_rate_score,
    CASE WHEN temp_max > 39.88 THEN 6 WHEN temp_min BETWEEN 33.22 AND 35.93 THEN 4 WHEN temp_max BETWEEN 33.22 AND 35.93 THEN 4 WHEN temp_min < 33.22 THEN 3
         WHEN temp_min > 35.93 AND temp_min <= 36.39 THEN 2 WHEN temp_max BETWEEN 36.89 AND 39.88 THEN 2 ELSE 0 END AS temp_score,
    CASE WHEN ml < 671.09 THEN 10 WHEN ml > 6896.80 THEN 8 WHEN ml BETWEEN 671.09 AND 1426.99 THEN 5 WHEN ml BETWEEN 1427.00 AND 2544.14 THEN 1 ELSE 0 END AS urineoutput_score,
    CASE WHEN fdv.stay_id IS NOT NULL THEN 9 ELSE 0 END AS mechvent_score,
    CASE WHEN admission_type = 'ELECTIVE' AND surg.hadm_id IS NOT NULL THEN 0 WHEN admission_type IS NULL THEN 0 ELSE 6 END AS electivesurgery_score
  FROM adm icu LEFT JOIN age ON age.hadm_id = icu.hadm_id LEFT JOIN fv ON fv.stay_id = icu.stay_id LEFT JOIN fg ON fg.stay_id = icu.stay_id LEFT JOIN fu ON fu.stay_id = icu.stay_id
  LEFT JOIN fdv ON fdv.stay_id = icu.stay_id LEFT JOIN surg ON surg.stay_id = icu.stay_id)
SELECT subject_id, hadm_id, stay_id, preiculos_score + age_score + gcs_score + heart_rate_score + mbp_score + resp_rate_score + temp_score + urineoutput_score + mechvent_score + electivesurgery_score AS oasis, preiculos_score, age_score, gcs_score, heart_rate_score, mbp_score, resp_rate_score, temp_score, urineoutput_score, mechvent_score, electivesurgery_score FROM sc
