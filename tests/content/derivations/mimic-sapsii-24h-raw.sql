-- mimic-sapsii-24h-raw, derived from the instruction and the skill sapsii-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
age AS (SELECT a.hadm_id, p.anchor_age + EPOCH(a.admittime - MAKE_TIMESTAMP(p.anchor_year, 1, 1, 0, 0, 0)) / 31556908.8 AS age
  FROM mimiciv_hosp.admissions a JOIN mimiciv_hosp.patients p USING (subject_id)),
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
bg1 AS (
  SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime,
    MAX(CASE WHEN itemid = 52033 THEN value END) AS specimen,
    MAX(CASE WHEN itemid = 50821 THEN valuenum END) AS po2,
    MAX(CASE WHEN itemid = 50818 THEN valuenum END) AS pco2,
    MAX(CASE WHEN itemid = 50820 THEN valuenum END) AS ph,
    MAX(CASE WHEN itemid = 50801 THEN valuenum END) AS aado2,
    MAX(CASE WHEN itemid = 50816 THEN CASE WHEN valuenum > 20 AND valuenum <= 100 THEN valuenum
                                           WHEN valuenum > 0.2 AND valuenum <= 1.0 THEN valuenum * 100 END END) AS fio2
  FROM mimiciv_hosp.labevents
  WHERE itemid = 52033 OR (itemid BETWEEN 50801 AND 50825 AND itemid <> 50812)
  GROUP BY specimen_id),
bg2 AS (SELECT * FROM bg1 WHERE po2 IS NOT NULL
  QUALIFY ROW_NUMBER() OVER (PARTITION BY subject_id, charttime ORDER BY specimen_id) = 1),
cf AS (SELECT * FROM (
  SELECT subject_id, charttime,
    MAX(CASE WHEN valuenum > 0.2 AND valuenum <= 1 THEN valuenum * 100
             WHEN valuenum >= 20 AND valuenum <= 100 THEN valuenum END) AS f
  FROM mimiciv_icu.chartevents WHERE itemid = 223835 AND valuenum > 0 AND valuenum <= 100
  GROUP BY subject_id, charttime) WHERE f IS NOT NULL),
bgf AS (
  SELECT b.specimen_id, ARG_MAX(cf.f, cf.charttime) AS f
  FROM bg2 b JOIN cf ON cf.subject_id = b.subject_id AND cf.charttime <= b.charttime AND cf.charttime >= b.charttime - INTERVAL 4 HOUR
  GROUP BY b.specimen_id),
bg AS (SELECT b.subject_id, b.hadm_id, b.charttime, b.specimen, b.po2, b.pco2, b.ph, b.aado2, b.fio2, bgf.f AS fio2_chart,
    100 * b.po2 / COALESCE(b.fio2, bgf.f) AS ratio
  FROM bg2 b LEFT JOIN bgf USING (specimen_id)),
art AS (SELECT * FROM bg WHERE specimen = 'ART.'),
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
chem AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50862 AND valuenum <= 10 THEN valuenum END) AS albumin, MAX(CASE WHEN itemid = 50882 AND valuenum <= 10000 THEN valuenum END) AS bicarb, MAX(CASE WHEN itemid = 51006 AND valuenum <= 300 THEN valuenum END) AS bun, MAX(CASE WHEN itemid = 50912 AND valuenum <= 150 THEN valuenum END) AS creat, MAX(CASE WHEN itemid = 50931 AND valuenum <= 10000 THEN valuenum END) AS gluc, MAX(CASE WHEN itemid = 50983 AND valuenum <= 200 THEN valuenum END) AS sodium, MAX(CASE WHEN itemid = 50971 AND valuenum <= 30 THEN valuenum END) AS potassium
  FROM mimiciv_hosp.labevents WHERE itemid IN (50862,50930,50976,50868,50882,51006,50893,50902,50912,50931,50983,50971) AND (valuenum > 0 OR (itemid = 50868 AND valuenum IS NOT NULL)) GROUP BY specimen_id),
cbc AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 51221 THEN valuenum END) AS hct, MAX(CASE WHEN itemid = 51265 THEN valuenum END) AS plt, MAX(CASE WHEN itemid = 51301 THEN valuenum END) AS wbc
  FROM mimiciv_hosp.labevents WHERE itemid IN (51221,51222,51248,51249,51250,51265,51279,51277,52159,51301) AND (valuenum > 0) GROUP BY specimen_id),
enz AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50885 THEN valuenum END) AS bili
  FROM mimiciv_hosp.labevents WHERE itemid IN (50861,50863,50878,50867,50885,50883,50884,50910,50911,50927,50954) AND (valuenum > 0) GROUP BY specimen_id),
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
