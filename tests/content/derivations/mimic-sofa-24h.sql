-- mimic-sofa-24h, derived from the instruction and the skill sofa-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
bg AS (SELECT subject_id, hadm_id, charttime, specimen, po2, pco2, ph, aado2, fio2, fio2_chartevents AS fio2_chart, pao2fio2ratio AS ratio FROM mimiciv_derived.bg),
art AS (SELECT * FROM bg WHERE specimen = 'ART.'),
inv AS (SELECT stay_id, starttime, endtime FROM mimiciv_derived.ventilation WHERE ventilation_status = 'InvasiveVent'),
norepi AS (SELECT stay_id, starttime, endtime, vaso_rate AS rate FROM mimiciv_derived.norepinephrine),
epi AS (SELECT stay_id, starttime, endtime, vaso_rate AS rate FROM mimiciv_derived.epinephrine),
dopa AS (SELECT stay_id, starttime, endtime, vaso_rate AS rate FROM mimiciv_derived.dopamine),
dobu AS (SELECT stay_id, starttime, endtime, vaso_rate AS rate FROM mimiciv_derived.dobutamine),
fv AS (SELECT stay_id, heart_rate_min AS hr_min, heart_rate_max AS hr_max, mbp_min, mbp_max, resp_rate_min AS rr_min, resp_rate_max AS rr_max, temperature_min AS temp_min, temperature_max AS temp_max, glucose_min, glucose_max FROM mimiciv_derived.first_day_vitalsign),
fg AS (SELECT stay_id, gcs_min AS total, gcs_motor AS motor, gcs_verbal AS verbal, gcs_eyes AS eyes, gcs_unable AS unable FROM mimiciv_derived.first_day_gcs),
fu AS (SELECT stay_id, urineoutput AS ml FROM mimiciv_derived.first_day_urine_output),
fl AS (SELECT stay_id, hematocrit_min AS hct_min, hematocrit_max AS hct_max, platelets_min AS plt_min, wbc_min, wbc_max, albumin_min, albumin_max, bun_max, creatinine_min AS creat_min, creatinine_max AS creat_max, glucose_min AS gluc_min, glucose_max AS gluc_max, sodium_min, sodium_max, bilirubin_total_max AS bili_max FROM mimiciv_derived.first_day_lab),
gas AS (SELECT icu.stay_id, x.ratio, EXISTS (SELECT 1 FROM inv v WHERE v.stay_id = icu.stay_id AND v.starttime <= x.charttime AND x.charttime <= v.endtime) AS ventd
  FROM icu JOIN art x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR),
pf AS (SELECT stay_id, MIN(CASE WHEN ventd THEN ratio END) AS pf_v, MIN(CASE WHEN NOT ventd THEN ratio END) AS pf_n FROM gas GROUP BY stay_id),
f_norepi AS (SELECT icu.stay_id, MAX(x.rate) AS norepi
  FROM icu JOIN norepi x ON x.stay_id = icu.stay_id AND x.starttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
f_epi AS (SELECT icu.stay_id, MAX(x.rate) AS epi
  FROM icu JOIN epi x ON x.stay_id = icu.stay_id AND x.starttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
f_dopa AS (SELECT icu.stay_id, MAX(x.rate) AS dopa
  FROM icu JOIN dopa x ON x.stay_id = icu.stay_id AND x.starttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
f_dobu AS (SELECT icu.stay_id, MAX(x.rate) AS dobu
  FROM icu JOIN dobu x ON x.stay_id = icu.stay_id AND x.starttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
sc AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id,
    CASE WHEN pf_v < 100 THEN 4 WHEN pf_v < 200 THEN 3 WHEN pf_n < 300 THEN 2 WHEN pf_n < 400 THEN 1 ELSE 0 END AS respiration,
    CASE WHEN plt_min < 20 THEN 4 WHEN plt_min < 50 THEN 3 WHEN plt_min < 100 THEN 2 WHEN plt_min < 150 THEN 1 ELSE 0 END AS coagulation,
    CASE WHEN bili_max >= 12 THEN 4 WHEN bili_max >= 6 THEN 3 WHEN bili_max >= 2 THEN 2 WHEN bili_max >= 1.2 THEN 1 ELSE 0 END AS liver,
    CASE WHEN dopa > 15 OR epi > 0.1 OR norepi > 0.1 THEN 4
         WHEN dopa > 5 OR (epi > 0 AND epi <= 0.1) OR (norepi > 0 AND norepi <= 0.1) THEN 3
         WHEN dopa > 0 OR dobu > 0 THEN 2 WHEN mbp_min < 70 THEN 1 ELSE 0 END AS cardiovascular,
    CASE WHEN total >= 13 AND total <= 14 THEN 1 WHEN total >= 10 AND total <= 12 THEN 2 WHEN total >= 6 AND total <= 9 THEN 3 WHEN total < 6 THEN 4 ELSE 0 END AS cns,
    CASE WHEN creat_max >= 5 THEN 4 WHEN ml < 200 THEN 4 WHEN creat_max >= 3.5 THEN 3 WHEN ml < 500 THEN 3 WHEN creat_max >= 2 THEN 2 WHEN creat_max >= 1.2 THEN 1 ELSE 0 END AS renal
  FROM icu LEFT JOIN pf USING (stay_id) LEFT JOIN fl USING (stay_id) LEFT JOIN fv USING (stay_id) LEFT JOIN fg USING (stay_id) LEFT JOIN fu USING (stay_id)
  LEFT JOIN f_norepi USING (stay_id) LEFT JOIN f_epi USING (stay_id) LEFT JOIN f_dopa USING (stay_id) LEFT JOIN f_dobu USING (stay_id))
SELECT subject_id, hadm_id, stay_id, respiration + coagulation + liver + cardiovascular + cns + renal AS sofa, respiration, coagulation, liver, cardiovascular, cns, renal FROM sc
