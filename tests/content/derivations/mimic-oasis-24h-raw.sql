-- mimic-oasis-24h-raw, derived from the instruction and the skill oasis-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
age AS (SELECT a.hadm_id, p.anchor_age + EPOCH(a.admittime - MAKE_TIMESTAMP(p.anchor_year, 1, 1, 0, 0, 0)) / 31556908.8 AS age
  FROM mimiciv_hosp.admissions a JOIN mimiciv_hosp.patients p USING (subject_id)),
flow AS (SELECT subject_id, charttime, MAX(stay_id) AS stay_id FROM mimiciv_icu.chartevents
  WHERE itemid IN (223834,227582,227287) AND value IS NOT NULL GROUP BY subject_id, charttime),
dev0 AS (SELECT subject_id, charttime, CASE WHEN COUNT(value) = COUNT(*) THEN MIN(value) END AS device
  FROM mimiciv_icu.chartevents WHERE itemid = 226732 GROUP BY subject_id, charttime),
dev AS (SELECT flow.stay_id, flow.charttime, MIN(dev0.device) AS device FROM flow JOIN dev0 USING (subject_id, charttime) GROUP BY 1, 2),
mode0 AS (SELECT subject_id, charttime, MAX(stay_id) AS stay_id,
    MAX(CASE WHEN itemid = 223849 THEN value END) AS vmode, MAX(CASE WHEN itemid = 229314 THEN value END) AS hmode
  FROM mimiciv_icu.chartevents
  WHERE itemid IN (223849,229314,223848,223835,220339,224700,224684,224685,224686,224687,224688,224689,224690,224691,224696)
    AND value IS NOT NULL AND stay_id IS NOT NULL
  GROUP BY subject_id, charttime),
obs0 AS (SELECT stay_id, charttime, dev.device, m.vmode, m.hmode FROM dev FULL OUTER JOIN mode0 m USING (stay_id, charttime)),
obs AS (SELECT * FROM (SELECT stay_id, charttime, CASE
    WHEN device IN ('Tracheostomy tube','Trach mask ') THEN 'Tracheostomy'
    WHEN device = 'Endotracheal tube' OR vmode IN ('(S) CMV','APRV','APRV/Biphasic+ApnPress','APRV/Biphasic+ApnVol','APV (cmv)','Ambient','Apnea Ventilation','CMV','CMV/ASSIST','CMV/ASSIST/AutoFlow','CMV/AutoFlow','CPAP/PPS','CPAP/PSV','CPAP/PSV+Apn TCPL','CPAP/PSV+ApnPres','CPAP/PSV+ApnVol','MMV','MMV/AutoFlow','MMV/PSV','MMV/PSV/AutoFlow','P-CMV','PCV+','PCV+/PSV','PCV+Assist','PRES/AC','PRVC/AC','PRVC/SIMV','PSV/SBT','SIMV','SIMV/AutoFlow','SIMV/PRES','SIMV/PSV','SIMV/PSV/AutoFlow','SIMV/VOL','SYNCHRON MASTER','SYNCHRON SLAVE','VOL/AC') OR hmode IN ('APRV','APV (cmv)','Ambient','(S) CMV','P-CMV','SIMV','APV (simv)','P-SIMV','VS','ASV') THEN 'InvasiveVent'
    WHEN device IN ('Bipap mask ','CPAP mask ') OR hmode IN ('DuoPaP','NIV','NIV-ST') THEN 'NonInvasiveVent'
    WHEN device = 'High flow nasal cannula' THEN 'HFNC'
    WHEN device IN ('Non-rebreather','Face tent','Aerosol-cool','Venti mask ','Medium conc mask ','Ultrasonic neb','Vapomist','Oxymizer','High flow neb','Nasal cannula') THEN 'SupplementalOxygen'
    WHEN device = 'None' THEN 'None' END AS status FROM obs0) WHERE status IS NOT NULL),
obs1 AS (SELECT *, LAG(status) OVER (PARTITION BY stay_id ORDER BY charttime) AS pstatus,
    LAG(charttime) OVER (PARTITION BY stay_id, status ORDER BY charttime) AS ptime,
    LEAD(charttime) OVER (PARTITION BY stay_id ORDER BY charttime) AS ntime FROM obs),
obs2 AS (SELECT *, SUM(CASE WHEN pstatus IS NULL OR pstatus <> status OR charttime - ptime >= INTERVAL 14 HOUR THEN 1 ELSE 0 END)
    OVER (PARTITION BY stay_id ORDER BY charttime) AS ep FROM obs1),
vent AS (SELECT stay_id, status, MIN(charttime) AS starttime,
    MAX(CASE WHEN ntime < charttime + INTERVAL 14 HOUR THEN ntime ELSE charttime END) AS endtime
  FROM obs2 GROUP BY stay_id, ep, status HAVING MIN(charttime) <> MAX(charttime)),
inv AS (SELECT stay_id, starttime, endtime FROM vent WHERE status = 'InvasiveVent'),
vs0 AS (
  SELECT subject_id, stay_id, charttime,
    AVG(CASE WHEN itemid IN (220045) AND valuenum > 0 AND valuenum < 300 THEN valuenum END) AS hr,
    AVG(CASE WHEN itemid IN (220179,220050,225309) AND valuenum > 0 AND valuenum < 400 THEN valuenum END) AS sbp,
    AVG(CASE WHEN itemid IN (220052,220181,225312) AND valuenum > 0 AND valuenum < 300 THEN valuenum END) AS mbp,
    AVG(CASE WHEN itemid IN (220210,224690) AND valuenum > 0 AND valuenum < 70 THEN valuenum END) AS rr,
    AVG(CASE WHEN itemid = 223761 AND valuenum > 70 AND valuenum < 120 THEN (valuenum - 32) / 1.8
             WHEN itemid = 223762 AND valuenum > 10 AND valuenum < 50 THEN valuenum END) AS temp_raw,
    AVG(CASE WHEN itemid IN (225664,220621,226537) AND valuenum > 0 THEN valuenum END) AS glucose
  FROM mimiciv_icu.chartevents
  WHERE stay_id IS NOT NULL AND itemid IN (220045,220179,220050,225309,220052,220181,225312,220210,224690,223761,223762,225664,220621,226537)
  GROUP BY subject_id, stay_id, charttime),
vs AS (SELECT subject_id, stay_id, charttime, hr, sbp, mbp, rr, glucose,
    ROUND(ROUND(temp_raw * 1000) / 10.0) / 100.0 AS temp FROM vs0),
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
uo AS (
  SELECT stay_id, charttime, SUM(CASE WHEN itemid = 227488 AND value > 0 THEN -value ELSE value END) AS ml
  FROM mimiciv_icu.outputevents
  WHERE itemid IN (226559,226560,226561,226584,226563,226564,226565,226567,226557,226558,227488,227489)
  GROUP BY stay_id, charttime),
fv AS (SELECT icu.stay_id, MIN(x.hr) AS hr_min, MAX(x.hr) AS hr_max, MIN(x.mbp) AS mbp_min, MAX(x.mbp) AS mbp_max, MIN(x.rr) AS rr_min, MAX(x.rr) AS rr_max, MIN(x.temp) AS temp_min, MAX(x.temp) AS temp_max
  FROM icu JOIN vs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fg AS (SELECT icu.stay_id, x.total, x.motor, x.verbal, x.eyes, x.unable
  FROM icu JOIN gcs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY icu.stay_id ORDER BY x.total ASC NULLS LAST, x.charttime ASC NULLS LAST, x.motor ASC NULLS LAST, x.verbal ASC NULLS LAST, x.eyes ASC NULLS LAST, x.unable ASC NULLS LAST) = 1),
fu AS (SELECT icu.stay_id, SUM(x.ml) AS ml
  FROM icu JOIN uo x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
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
