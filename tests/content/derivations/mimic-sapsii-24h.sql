-- mimic-sapsii-24h, derived from the instruction and the skill sapsii-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
age AS (SELECT hadm_id, age FROM mimiciv_derived.age),
vs AS (SELECT subject_id, stay_id, charttime, heart_rate AS hr, sbp, mbp, resp_rate AS rr, glucose, temperature AS temp FROM mimiciv_derived.vitalsign),
bg AS (SELECT subject_id, hadm_id, charttime, specimen, po2, pco2, ph, aado2, fio2, fio2_chartevents AS fio2_chart, pao2fio2ratio AS ratio FROM mimiciv_derived.bg),
art AS (SELECT * FROM bg WHERE specimen = 'ART.'),
inv AS (SELECT stay_id, starttime, endtime FROM mimiciv_derived.ventilation WHERE ventilation_status = 'InvasiveVent'),
gcs AS (SELECT subject_id, stay_id, charttime, gcs AS total, gcs_motor AS motor, gcs_verbal AS verbal, gcs_eyes AS eyes, gcs_unable AS unable FROM mimiciv_derived.gcs),
uo AS (SELECT stay_id, charttime, urineoutput AS ml FROM mimiciv_derived.urine_output),
chem AS (SELECT subject_id, hadm_id, charttime, albumin, bicarbonate AS bicarb, bun, creatinine AS creat, glucose AS gluc, sodium, potassium FROM mimiciv_derived.chemistry),
cbc AS (SELECT subject_id, hadm_id, charttime, hematocrit AS hct, platelet AS plt, wbc FROM mimiciv_derived.complete_blood_count),
enz AS (SELECT subject_id, hadm_id, charttime, bilirubin_total AS bili FROM mimiciv_derived.enzyme),
fv AS (SELECT icu.stay_id, MIN(x.hr) AS hr_min, MAX(x.hr) AS hr_max, MIN(x.sbp) AS sbp_min, MAX(x.sbp) AS sbp_max, MIN(x.temp) AS temp_min, MAX(x.temp) AS temp_max
  FROM icu JOIN vs x ON x.subject_id = icu.subject_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fu AS (SELECT icu.stay_id, SUM(x.ml) AS ml
  FROM icu JOIN uo x ON x.stay_id = icu.stay_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fg AS (SELECT icu.stay_id, MIN(x.total) AS total
  FROM icu JOIN gcs x ON x.stay_id = icu.stay_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fch AS (SELECT icu.stay_id, MIN(x.bun) AS bun_min, MAX(x.bun) AS bun_max, MIN(x.potassium) AS potassium_min, MAX(x.potassium) AS potassium_max, MIN(x.sodium) AS sodium_min, MAX(x.sodium) AS sodium_max, MIN(x.bicarb) AS bicarb_min, MAX(x.bicarb) AS bicarb_max
  FROM icu JOIN chem x ON x.subject_id = icu.subject_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fw AS (SELECT icu.stay_id, MIN(x.wbc) AS wbc_min, MAX(x.wbc) AS wbc_max
  FROM icu JOIN cbc x ON x.subject_id = icu.subject_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fe AS (SELECT icu.stay_id, MIN(x.bili) AS bili_min, MAX(x.bili) AS bili_max
  FROM icu JOIN enz x ON x.subject_id = icu.subject_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
cpap AS (SELECT icu.stay_id, icu.subject_id,
    GREATEST(MIN(x.charttime) - INTERVAL 1 HOUR, MIN(icu.intime)) AS starttime, LEAST(MAX(x.charttime) + INTERVAL 4 HOUR, MIN(icu.intime) + INTERVAL 24 HOUR) AS endtime
  FROM icu JOIN mimiciv_icu.chartevents x ON x.stay_id = icu.stay_id AND x.itemid = 226732 AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR
    AND (LOWER(x.value) LIKE '%cpap mask%' OR LOWER(x.value) LIKE '%bipap%')
  GROUP BY icu.stay_id, icu.subject_id),
fp AS (SELECT icu.stay_id, MIN(x.ratio) AS pf FROM icu JOIN art x ON x.subject_id = icu.subject_id AND x.charttime > icu.intime AND x.charttime <= icu.intime + INTERVAL 24 HOUR
  WHERE EXISTS (SELECT 1 FROM inv v WHERE v.stay_id = icu.stay_id AND v.starttime < x.charttime AND x.charttime <= v.endtime)
     OR EXISTS (SELECT 1 FROM cpap p WHERE p.subject_id = icu.subject_id AND p.starttime < x.charttime AND x.charttime <= p.endtime)
  GROUP BY icu.stay_id),
dx AS (SELECT hadm_id,
    MAX(CASE WHEN (icd_version = 9 AND LEFT(icd_code,3) BETWEEN '042' AND '044') OR (icd_version = 10 AND (LEFT(icd_code,3) BETWEEN 'B20' AND 'B22' OR LEFT(icd_code,3) = 'B24')) THEN 1 ELSE 0 END) AS aids,
    MAX(CASE WHEN (icd_version = 9 AND (LEFT(icd_code,5) BETWEEN '20000' AND '20238' OR LEFT(icd_code,5) BETWEEN '20240' AND '20248' OR LEFT(icd_code,5) BETWEEN '20250' AND '20302' OR LEFT(icd_code,5) BETWEEN '20310' AND '20312' OR LEFT(icd_code,5) BETWEEN '20302' AND '20382' OR LEFT(icd_code,5) BETWEEN '20400' AND '20522' OR LEFT(icd_code,5) BETWEEN '20580' AND '20702' OR LEFT(icd_code,5) BETWEEN '20720' AND '20892' OR LEFT(icd_code,4) IN ('2386','2733'))) OR (icd_version = 10 AND LEFT(icd_code,3) BETWEEN 'C81' AND 'C96') THEN 1 ELSE 0 END) AS hem,
    MAX(CASE WHEN (icd_version = 9 AND (LEFT(icd_code,4) BETWEEN '1960' AND '1991' OR LEFT(icd_code,5) BETWEEN '20970' AND '20975' OR LEFT(icd_code,5) IN ('20979','78951')))
        OR (icd_version = 10 AND (LEFT(icd_code,3) BETWEEN 'C77' AND 'C79' OR LEFT(icd_code,4) = 'C800')) THEN 1 ELSE 0 END) AS mets
  FROM mimiciv_hosp.diagnoses_icd GROUP BY hadm_id),
sv AS (SELECT hadm_id, LOWER(curr_service) LIKE '%surg%' AS surg FROM mimiciv_hosp.services
  QUALIFY ROW_NUMBER() OVER (PARTITION BY hadm_id ORDER BY transfertime ASC NULLS FIRST, curr_service ASC) = 1),
sc AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id,
    CASE WHEN age < 40 THEN 0 WHEN age < 60 THEN 7 WHEN age < 70 THEN 12 WHEN age < 75 THEN 15 WHEN age < 80 THEN 16 WHEN age >= 80 THEN 18 ELSE 0 END AS age_score,
    CASE WHEN hr_min < 40 THEN 11 WHEN hr_max >= 160 THEN 7 WHEN hr_max >= 120 THEN 4 WHEN hr_min < 70 THEN 2 ELSE 0 END AS hr_score,
    CASE WHEN sbp_min < 70 THEN 13 WHEN sbp_min < 100 THEN 5 WHEN sbp_max >= 200 THEN 2 ELSE 0 END AS sysbp_score,
    CASE WHEN temp_max >= 39.0 THEN 3 ELSE 0 END AS temp_score,
    CASE WHEN pf < 100 THEN 11 WHEN pf < 200 THEN 9 WHEN pf >= 200 THEN 6 ELSE 0 END AS pao2fio2_score,
    CASE WHEN ml < 500 THEN 11 WHEN ml < 1000 THEN 4 ELSE 0 END AS uo_score,
    CASE WHEN bun_max < 28 THEN 0 WHEN bun_max < 84 THEN 6 WHEN bun_max >= 84 THEN 10 ELSE 0 END AS bun_score,
    CASE WHEN wbc_min < 1.0 THEN 12 WHEN wbc_max >= 20 THEN 3 ELSE 0 END AS wbc_score,
    CASE WHEN potassium_min < 3.0 THEN 3 WHEN potassium_max >= 5.0 THEN 3 ELSE 0 END AS potassium_score,
    CASE WHEN sodium_min < 125 THEN 5 WHEN sodium_max >= 145 THEN 1 ELSE 0 END AS sodium_score,
    CASE WHEN bicarb_min < 15 THEN 6 WHEN bicarb_min < 20 THEN 3 ELSE 0 END AS bicarbonate_score,
    CASE WHEN bili_max < 4.0 THEN 0 WHEN bili_max < 6.0 THEN 4 WHEN bili_max >= 6.0 THEN 9 ELSE 0 END AS bilirubin_score,
    CASE WHEN total < 3 THEN 0 WHEN total < 6 THEN 26 WHEN total < 9 THEN 13 WHEN total < 11 THEN 7 WHEN total < 14 THEN 5 ELSE 0 END AS gcs_score,
    CASE WHEN aids = 1 THEN 17 WHEN hem = 1 THEN 10 WHEN mets = 1 THEN 9 ELSE 0 END AS comorbidity_score,
    CASE WHEN a.admission_type = 'ELECTIVE' AND sv.surg THEN 0 WHEN a.admission_type <> 'ELECTIVE' AND sv.surg THEN 8 ELSE 6 END AS admissiontype_score
  FROM icu JOIN mimiciv_hosp.admissions a ON a.hadm_id = icu.hadm_id
  LEFT JOIN age ON age.hadm_id = icu.hadm_id LEFT JOIN dx ON dx.hadm_id = icu.hadm_id LEFT JOIN sv ON sv.hadm_id = icu.hadm_id
  LEFT JOIN fv ON fv.stay_id = icu.stay_id LEFT JOIN fp ON fp.stay_id = icu.stay_id LEFT JOIN fu ON fu.stay_id = icu.stay_id
  LEFT JOIN fch ON fch.stay_id = icu.stay_id LEFT JOIN fw ON fw.stay_id = icu.stay_id LEFT JOIN fe ON fe.stay_id = icu.stay_id LEFT JOIN fg ON fg.stay_id = icu.stay_id)
SELECT subject_id, hadm_id, stay_id, age_score + hr_score + sysbp_score + temp_score + pao2fio2_score + uo_score + bun_score + wbc_score + potassium_score + sodium_score + bicarbonate_score + bilirubin_score + gcs_score + comorbidity_score + admissiontype_score AS sapsii, age_score, hr_score, sysbp_score, temp_score, pao2fio2_score, uo_score, bun_score, wbc_score, potassium_score, sodium_score, bicarbonate_score, bilirubin_score, gcs_score, comorbidity_score, admissiontype_score FROM sc
