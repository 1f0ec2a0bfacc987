-- mimic-apsiii-24h-raw, derived from the instruction and the skill apsiii-score as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
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
chem AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50862 AND valuenum <= 10 THEN valuenum END) AS albumin, MAX(CASE WHEN itemid = 50882 AND valuenum <= 10000 THEN valuenum END) AS bicarb, MAX(CASE WHEN itemid = 51006 AND valuenum <= 300 THEN valuenum END) AS bun, MAX(CASE WHEN itemid = 50912 AND valuenum <= 150 THEN valuenum END) AS creat, MAX(CASE WHEN itemid = 50931 AND valuenum <= 10000 THEN valuenum END) AS gluc, MAX(CASE WHEN itemid = 50983 AND valuenum <= 200 THEN valuenum END) AS sodium, MAX(CASE WHEN itemid = 50971 AND valuenum <= 30 THEN valuenum END) AS potassium
  FROM mimiciv_hosp.labevents WHERE itemid IN (50862,50930,50976,50868,50882,51006,50893,50902,50912,50931,50983,50971) AND (valuenum > 0 OR (itemid = 50868 AND valuenum IS NOT NULL)) GROUP BY specimen_id),
cbc AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 51221 THEN valuenum END) AS hct, MAX(CASE WHEN itemid = 51265 THEN valuenum END) AS plt, MAX(CASE WHEN itemid = 51301 THEN valuenum END) AS wbc
  FROM mimiciv_hosp.labevents WHERE itemid IN (51221,51222,51248,51249,51250,51265,51279,51277,52159,51301) AND (valuenum > 0) GROUP BY specimen_id),
enz AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50885 THEN valuenum END) AS bili
  FROM mimiciv_hosp.labevents WHERE itemid IN (50861,50863,50878,50867,50885,50883,50884,50910,50911,50927,50954) AND (valuenum > 0) GROUP BY specimen_id),
fv AS (SELECT icu.stay_id, MIN(x.hr) AS hr_min, MAX(x.hr) AS hr_max, MIN(x.mbp) AS mbp_min, MAX(x.mbp) AS mbp_max, MIN(x.temp) AS temp_min, MAX(x.temp) AS temp_max, MIN(x.rr) AS rr_min, MAX(x.rr) AS rr_max, MIN(x.glucose) AS glucose_min, MAX(x.glucose) AS glucose_max
  FROM icu JOIN vs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fg AS (SELECT icu.stay_id, x.total, x.motor, x.verbal, x.eyes, x.unable
  FROM icu JOIN gcs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY icu.stay_id ORDER BY x.total ASC NULLS LAST, x.charttime ASC NULLS LAST, x.motor ASC NULLS LAST, x.verbal ASC NULLS LAST, x.eyes ASC NULLS LAST, x.unable ASC NULLS LAST) = 1),
fu AS (SELECT icu.stay_id, SUM(x.ml) AS ml
  FROM icu JOIN uo x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fch AS (SELECT icu.stay_id, MIN(x.creat) AS creat_min, MAX(x.creat) AS creat_max, MIN(x.bun) AS bun_min, MAX(x.bun) AS bun_max, MIN(x.sodium) AS sodium_min, MAX(x.sodium) AS sodium_max, MIN(x.albumin) AS albumin_min, MAX(x.albumin) AS albumin_max, MIN(x.gluc) AS gluc_min, MAX(x.gluc) AS gluc_max
  FROM icu JOIN chem x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fcb AS (SELECT icu.stay_id, MIN(x.hct) AS hct_min, MAX(x.hct) AS hct_max, MIN(x.wbc) AS wbc_min, MAX(x.wbc) AS wbc_max
  FROM icu JOIN cbc x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fen AS (SELECT icu.stay_id, MIN(x.bili) AS bili_min, MAX(x.bili) AS bili_max
  FROM icu JOIN enz x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fl AS (SELECT * FROM icu LEFT JOIN fch USING (stay_id) LEFT JOIN fcb USING (stay_id) LEFT JOIN fen USING (stay_id)),
gas AS (SELECT icu.stay_id, x.po2, x.aado2, x.ph, x.pco2, x.fio2, x.fio2_chart,
    EXISTS (SELECT 1 FROM inv v WHERE v.stay_id = icu.stay_id AND v.starttime <= x.charttime AND x.charttime <= v.endtime) AS ventd
  FROM icu JOIN art x ON x.hadm_id = icu.hadm_id AND x.charttime >= icu.intime AND x.charttime < icu.intime + INTERVAL 24 HOUR AND (icu.outtime IS NULL OR x.charttime < icu.outtime)),
ox AS (SELECT stay_id,
    MAX(CASE WHEN NOT ventd AND COALESCE(fio2, fio2_chart, 21) < 50 THEN po2 END) AS pao2,
    MAX(CASE WHEN ventd AND COALESCE(fio2, fio2_chart) >= 50 THEN aado2 END) AS aado2,
    MAX(CASE WHEN ph IS NULL OR pco2 IS NULL THEN NULL
      WHEN ph < 7.20 THEN CASE WHEN pco2 < 50 THEN 12 ELSE 4 END
      WHEN ph < 7.30 THEN CASE WHEN pco2 < 30 THEN 9 WHEN pco2 < 40 THEN 6 WHEN pco2 < 50 THEN 3 ELSE 2 END
      WHEN ph < 7.35 THEN CASE WHEN pco2 < 30 THEN 9 WHEN pco2 < 45 THEN 0 ELSE 1 END
      WHEN ph < 7.45 THEN CASE WHEN pco2 < 30 THEN 5 WHEN pco2 < 45 THEN 0 ELSE 1 END
      WHEN ph < 7.50 THEN CASE WHEN pco2 < 30 THEN 5 WHEN pco2 < 35 THEN 0 WHEN pco2 < 45 THEN 2 ELSE 12 END
      WHEN ph < 7.60 THEN CASE WHEN pco2 < 40 THEN 3 ELSE 12 END
      ELSE CASE WHEN pco2 < 25 THEN 0 WHEN pco2 < 40 THEN 3 ELSE 12 END END) AS acidbase
  FROM gas GROUP BY stay_id),
ckd AS (SELECT hadm_id, MAX(CASE WHEN (icd_version = 9 AND LEFT(icd_code,4) IN ('5854','5855','5856')) OR (icd_version = 10 AND LEFT(icd_code,4) IN ('N184','N185','N186')) THEN 1 ELSE 0 END) AS ckd
  FROM mimiciv_hosp.diagnoses_icd GROUP BY hadm_id),
fdv AS (SELECT icu.stay_id FROM icu JOIN inv v ON v.stay_id = icu.stay_id
  WHERE v.starttime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR
     OR v.endtime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR
     OR (v.starttime <= icu.intime AND v.endtime >= icu.intime + INTERVAL 24 HOUR)
  GROUP BY icu.stay_id),
inp AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id, fv.hr_min, fv.hr_max, fv.mbp_min, fv.mbp_max, fv.temp_min, fv.temp_max, fv.rr_min, fv.rr_max,
    LEAST(fv.glucose_min, fl.gluc_min) AS glu_min, GREATEST(fv.glucose_max, fl.gluc_max) AS glu_max,
    fl.hct_min, fl.hct_max, fl.wbc_min, fl.wbc_max, fl.creat_min, fl.creat_max, fl.bun_max, fl.sodium_min, fl.sodium_max, fl.albumin_min, fl.albumin_max, fl.bili_max,
    fu.ml, fg.motor, fg.verbal, fg.eyes, fg.unable, ox.pao2, ox.aado2, ox.acidbase, fdv.stay_id IS NOT NULL AS vent1,
    (fl.creat_max >= 1.5 AND fu.ml < 410 AND ckd.ckd = 0) AS arf
  FROM icu LEFT JOIN fv ON fv.stay_id = icu.stay_id LEFT JOIN fl ON fl.stay_id = icu.stay_id LEFT JOIN fu ON fu.stay_id = icu.stay_id LEFT JOIN fg ON fg.stay_id = icu.stay_id
  LEFT JOIN ox ON ox.stay_id = icu.stay_id LEFT JOIN fdv ON fdv.stay_id = icu.stay_id LEFT JOIN ckd ON ckd.hadm_id = icu.hadm_id),
sc AS (SELECT subject_id, hadm_id, stay_id,
    COALESCE(CASE WHEN ABS(hr_max - CAST(75 AS DOUBLE)) > ABS(hr_min - CAST(75 AS DOUBLE)) THEN CASE WHEN hr_max < 40 THEN 8 WHEN hr_max < 50 THEN 5 WHEN hr_max < 100 THEN 0 WHEN hr_max < 110 THEN 1 WHEN hr_max < 120 THEN 5 WHEN hr_max < 140 THEN 7 WHEN hr_max < 155 THEN 13 WHEN hr_max IS NOT NULL THEN 17 END WHEN ABS(hr_max - CAST(75 AS DOUBLE)) < ABS(hr_min - CAST(75 AS DOUBLE)) THEN CASE WHEN hr_min < 40 THEN 8 WHEN hr_min < 50 THEN 5 WHEN hr_min < 100 THEN 0 WHEN hr_min < 110 THEN 1 WHEN hr_min < 120 THEN 5 WHEN hr_min < 140 THEN 7 WHEN hr_min < 155 THEN 13 WHEN hr_min IS NOT NULL THEN 17 END ELSE GREATEST(CASE WHEN hr_max < 40 THEN 8 WHEN hr_max < 50 THEN 5 WHEN hr_max < 100 THEN 0 WHEN hr_max < 110 THEN 1 WHEN hr_max < 120 THEN 5 WHEN hr_max < 140 THEN 7 WHEN hr_max < 155 THEN 13 WHEN hr_max IS NOT NULL THEN 17 END, CASE WHEN hr_min < 40 THEN 8 WHEN hr_min < 50 THEN 5 WHEN hr_min < 100 THEN 0 WHEN hr_min < 110 THEN 1 WHEN hr_min < 120 THEN 5 WHEN hr_min < 140 THEN 7 WHEN hr_min < 155 THEN 13 WHEN hr_min IS NOT NULL THEN 17 END) END, 0) AS hr_score,
    COALESCE(CASE WHEN ABS(mbp_max - CAST(90 AS DOUBLE)) > ABS(mbp_min - CAST(90 AS DOUBLE)) THEN CASE WHEN mbp_max < 40 THEN 23 WHEN mbp_max < 60 THEN 15 WHEN mbp_max < 70 THEN 7 WHEN mbp_max < 80 THEN 6 WHEN mbp_max < 100 THEN 0 WHEN mbp_max < 120 THEN 4 WHEN mbp_max < 130 THEN 7 WHEN mbp_max < 140 THEN 9 WHEN mbp_max IS NOT NULL THEN 10 END WHEN ABS(mbp_max - CAST(90 AS DOUBLE)) < ABS(mbp_min - CAST(90 AS DOUBLE)) THEN CASE WHEN mbp_min < 40 THEN 23 WHEN mbp_min < 60 THEN 15 WHEN mbp_min < 70 THEN 7 WHEN mbp_min < 80 THEN 6 WHEN mbp_min < 100 THEN 0 WHEN mbp_min < 120 THEN 4 WHEN mbp_min < 130 THEN 7 WHEN mbp_min < 140 THEN 9 WHEN mbp_min IS NOT NULL THEN 10 END ELSE GREATEST(CASE WHEN mbp_max < 40 THEN 23 WHEN mbp_max < 60 THEN 15 WHEN mbp_max < 70 THEN 7 WHEN mbp_max < 80 THEN 6 WHEN mbp_max < 100 THEN 0 WHEN mbp_max < 120 THEN 4 WHEN mbp_max < 130 THEN 7 WHEN mbp_max < 140 THEN 9 WHEN mbp_max IS NOT NULL THEN 10 END, CASE WHEN mbp_min < 40 THEN 23 WHEN mbp_min < 60 THEN 15 WHEN mbp_min < 70 THEN 7 WHEN mbp_min < 80 THEN 6 WHEN mbp_min < 100 THEN 0 WHEN mbp_min < 120 THEN 4 WHEN mbp_min < 130 THEN 7 WHEN mbp_min < 140 THEN 9 WHEN mbp_min IS NOT NULL THEN 10 END) END, 0) AS mbp_score,
    COALESCE(CASE WHEN ABS(CAST(temp_max AS DECIMAL(18,2)) - 38) > ABS(CAST(temp_min AS DECIMAL(18,2)) - 38) THEN CASE WHEN temp_max < 33.0 THEN 20 WHEN temp_max < 33.5 THEN 16 WHEN temp_max < 34.0 THEN 13 WHEN temp_max < 35.0 THEN 8 WHEN temp_max < 36.0 THEN 2 WHEN temp_max < 40.0 THEN 0 WHEN temp_max IS NOT NULL THEN 4 END WHEN ABS(CAST(temp_max AS DECIMAL(18,2)) - 38) < ABS(CAST(temp_min AS DECIMAL(18,2)) - 38) THEN CASE WHEN temp_min < 33.0 THEN 20 WHEN temp_min < 33.5 THEN 16 WHEN temp_min < 34.0 THEN 13 WHEN temp_min < 35.0 THEN 8 WHEN temp_min < 36.0 THEN 2 WHEN temp_min < 40.0 THEN 0 WHEN temp_min IS NOT NULL THEN 4 END ELSE GREATEST(CASE WHEN temp_max < 33.0 THEN 20 WHEN temp_max < 33.5 THEN 16 WHEN temp_max < 34.0 THEN 13 WHEN temp_max < 35.0 THEN 8 WHEN temp_max < 36.0 THEN 2 WHEN temp_max < 40.0 THEN 0 WHEN temp_max IS NOT NULL THEN 4 END, CASE WHEN temp_min < 33.0 THEN 20 WHEN temp_min < 33.5 THEN 16 WHEN temp_min < 34.0 THEN 13 WHEN temp_min < 35.0 THEN 8 WHEN temp_min < 36.0 THEN 2 WHEN temp_min < 40.0 THEN 0 WHEN temp_min IS NOT NULL THEN 4 END) END, 0) AS temp_score,
    CASE WHEN vent1 THEN COALESCE(CASE WHEN ABS(rr_max - CAST(19 AS DOUBLE)) > ABS(rr_min - CAST(19 AS DOUBLE)) THEN CASE WHEN rr_max < 25 THEN 0 WHEN rr_max < 35 THEN 6 WHEN rr_max < 40 THEN 9 WHEN rr_max < 50 THEN 11 WHEN rr_max IS NOT NULL THEN 18 END WHEN ABS(rr_max - CAST(19 AS DOUBLE)) < ABS(rr_min - CAST(19 AS DOUBLE)) THEN CASE WHEN rr_min < 25 THEN 0 WHEN rr_min < 35 THEN 6 WHEN rr_min < 40 THEN 9 WHEN rr_min < 50 THEN 11 WHEN rr_min IS NOT NULL THEN 18 END ELSE GREATEST(CASE WHEN rr_max < 25 THEN 0 WHEN rr_max < 35 THEN 6 WHEN rr_max < 40 THEN 9 WHEN rr_max < 50 THEN 11 WHEN rr_max IS NOT NULL THEN 18 END, CASE WHEN rr_min < 25 THEN 0 WHEN rr_min < 35 THEN 6 WHEN rr_min < 40 THEN 9 WHEN rr_min < 50 THEN 11 WHEN rr_min IS NOT NULL THEN 18 END) END, 0) ELSE COALESCE(CASE WHEN ABS(rr_max - CAST(19 AS DOUBLE)) > ABS(rr_min - CAST(19 AS DOUBLE)) THEN CASE WHEN rr_max < 6 THEN 17 WHEN rr_max < 12 THEN 8 WHEN rr_max < 14 THEN 7 WHEN rr_max < 25 THEN 0 WHEN rr_max < 35 THEN 6 WHEN rr_max < 40 THEN 9 WHEN rr_max < 50 THEN 11 WHEN rr_max IS NOT NULL THEN 18 END WHEN ABS(rr_max - CAST(19 AS DOUBLE)) < ABS(rr_min - CAST(19 AS DOUBLE)) THEN CASE WHEN rr_min < 6 THEN 17 WHEN rr_min < 12 THEN 8 WHEN rr_min < 14 THEN 7 WHEN rr_min < 25 THEN 0 WHEN rr_min < 35 THEN 6 WHEN rr_min < 40 THEN 9 WHEN rr_min < 50 THEN 11 WHEN rr_min IS NOT NULL THEN 18 END ELSE GREATEST(CASE WHEN rr_max < 6 THEN 17 WHEN rr_max < 12 THEN 8 WHEN rr_max < 14 THEN 7 WHEN rr_max < 25 THEN 0 WHEN rr_max < 35 THEN 6 WHEN rr_max < 40 THEN 9 WHEN rr_max < 50 THEN 11 WHEN rr_max IS NOT NULL THEN 18 END, CASE WHEN rr_min < 6 THEN 17 WHEN rr_min < 12 THEN 8 WHEN rr_min < 14 THEN 7 WHEN rr_min < 25 THEN 0 WHEN rr_min < 35 THEN 6 WHEN rr_min < 40 THEN 9 WHEN rr_min < 50 THEN 11 WHEN rr_min IS NOT NULL THEN 18 END) END, 0) END AS resp_rate_score,
    CASE WHEN pao2 IS NOT NULL THEN CASE WHEN pao2 < 50 THEN 15 WHEN pao2 < 70 THEN 5 WHEN pao2 < 80 THEN 2 WHEN pao2 IS NOT NULL THEN 0 END WHEN aado2 IS NOT NULL THEN CASE WHEN aado2 < 100 THEN 0 WHEN aado2 < 250 THEN 7 WHEN aado2 < 350 THEN 9 WHEN aado2 < 500 THEN 11 WHEN aado2 IS NOT NULL THEN 14 END ELSE 0 END AS pao2_aado2_score,
    COALESCE(CASE WHEN ABS(hct_max - CAST(45.5 AS DOUBLE)) > ABS(hct_min - CAST(45.5 AS DOUBLE)) THEN CASE WHEN hct_max < 41 THEN 3 WHEN hct_max < 50 THEN 0 WHEN hct_max IS NOT NULL THEN 3 END WHEN ABS(hct_max - CAST(45.5 AS DOUBLE)) < ABS(hct_min - CAST(45.5 AS DOUBLE)) THEN CASE WHEN hct_min < 41 THEN 3 WHEN hct_min < 50 THEN 0 WHEN hct_min IS NOT NULL THEN 3 END ELSE GREATEST(CASE WHEN hct_max < 41 THEN 3 WHEN hct_max < 50 THEN 0 WHEN hct_max IS NOT NULL THEN 3 END, CASE WHEN hct_min < 41 THEN 3 WHEN hct_min < 50 THEN 0 WHEN hct_min IS NOT NULL THEN 3 END) END, 0) AS hematocrit_score,
    COALESCE(CASE WHEN ABS(wbc_max - CAST(11.5 AS DOUBLE)) > ABS(wbc_min - CAST(11.5 AS DOUBLE)) THEN CASE WHEN wbc_max < 1 THEN 19 WHEN wbc_max < 3 THEN 5 WHEN wbc_max < 20 THEN 0 WHEN wbc_max < 25 THEN 1 WHEN wbc_max IS NOT NULL THEN 5 END WHEN ABS(wbc_max - CAST(11.5 AS DOUBLE)) < ABS(wbc_min - CAST(11.5 AS DOUBLE)) THEN CASE WHEN wbc_min < 1 THEN 19 WHEN wbc_min < 3 THEN 5 WHEN wbc_min < 20 THEN 0 WHEN wbc_min < 25 THEN 1 WHEN wbc_min IS NOT NULL THEN 5 END ELSE GREATEST(CASE WHEN wbc_max < 1 THEN 19 WHEN wbc_max < 3 THEN 5 WHEN wbc_max < 20 THEN 0 WHEN wbc_max < 25 THEN 1 WHEN wbc_max IS NOT NULL THEN 5 END, CASE WHEN wbc_min < 1 THEN 19 WHEN wbc_min < 3 THEN 5 WHEN wbc_min < 20 THEN 0 WHEN wbc_min < 25 THEN 1 WHEN wbc_min IS NOT NULL THEN 5 END) END, 0) AS wbc_score,
    CASE WHEN arf THEN CASE WHEN creat_max < 1.5 THEN 0 ELSE 10 END ELSE COALESCE(CASE WHEN ABS(creat_max - CAST(1 AS DOUBLE)) > ABS(creat_min - CAST(1 AS DOUBLE)) THEN CASE WHEN creat_max < 0.5 THEN 3 WHEN creat_max < 1.5 THEN 0 WHEN creat_max < 1.95 THEN 4 WHEN creat_max IS NOT NULL THEN 7 END WHEN ABS(creat_max - CAST(1 AS DOUBLE)) < ABS(creat_min - CAST(1 AS DOUBLE)) THEN CASE WHEN creat_min < 0.5 THEN 3 WHEN creat_min < 1.5 THEN 0 WHEN creat_min < 1.95 THEN 4 WHEN creat_min IS NOT NULL THEN 7 END ELSE GREATEST(CASE WHEN creat_max < 0.5 THEN 3 WHEN creat_max < 1.5 THEN 0 WHEN creat_max < 1.95 THEN 4 WHEN creat_max IS NOT NULL THEN 7 END, CASE WHEN creat_min < 0.5 THEN 3 WHEN creat_min < 1.5 THEN 0 WHEN creat_min < 1.95 THEN 4 WHEN creat_min IS NOT NULL THEN 7 END) END, 0) END AS creatinine_score,
    COALESCE(CASE WHEN ml < 400 THEN 15 WHEN ml < 600 THEN 8 WHEN ml < 900 THEN 7 WHEN ml < 1500 THEN 5 WHEN ml < 2000 THEN 4 WHEN ml < 4000 THEN 0 WHEN ml IS NOT NULL THEN 1 END, 0) AS uo_score,
    COALESCE(CASE WHEN bun_max < 17 THEN 0 WHEN bun_max < 20 THEN 2 WHEN bun_max < 40 THEN 7 WHEN bun_max < 80 THEN 11 WHEN bun_max IS NOT NULL THEN 12 END, 0) AS bun_score,
    COALESCE(CASE WHEN ABS(sodium_max - CAST(145.5 AS DOUBLE)) > ABS(sodium_min - CAST(145.5 AS DOUBLE)) THEN CASE WHEN sodium_max < 120 THEN 3 WHEN sodium_max < 135 THEN 2 WHEN sodium_max < 155 THEN 0 WHEN sodium_max IS NOT NULL THEN 4 END WHEN ABS(sodium_max - CAST(145.5 AS DOUBLE)) < ABS(sodium_min - CAST(145.5 AS DOUBLE)) THEN CASE WHEN sodium_min < 120 THEN 3 WHEN sodium_min < 135 THEN 2 WHEN sodium_min < 155 THEN 0 WHEN sodium_min IS NOT NULL THEN 4 END ELSE GREATEST(CASE WHEN sodium_max < 120 THEN 3 WHEN sodium_max < 135 THEN 2 WHEN sodium_max < 155 THEN 0 WHEN sodium_max IS NOT NULL THEN 4 END, CASE WHEN sodium_min < 120 THEN 3 WHEN sodium_min < 135 THEN 2 WHEN sodium_min < 155 THEN 0 WHEN sodium_min IS NOT NULL THEN 4 END) END, 0) AS sodium_score,
    COALESCE(CASE WHEN ABS(albumin_max - CAST(3.5 AS DOUBLE)) > ABS(albumin_min - CAST(3.5 AS DOUBLE)) THEN CASE WHEN albumin_max < 2.0 THEN 11 WHEN albumin_max < 2.5 THEN 6 WHEN albumin_max < 4.5 THEN 0 WHEN albumin_max IS NOT NULL THEN 4 END WHEN ABS(albumin_max - CAST(3.5 AS DOUBLE)) < ABS(albumin_min - CAST(3.5 AS DOUBLE)) THEN CASE WHEN albumin_min < 2.0 THEN 11 WHEN albumin_min < 2.5 THEN 6 WHEN albumin_min < 4.5 THEN 0 WHEN albumin_min IS NOT NULL THEN 4 END ELSE GREATEST(CASE WHEN albumin_max < 2.0 THEN 11 WHEN albumin_max < 2.5 THEN 6 WHEN albumin_max < 4.5 THEN 0 WHEN albumin_max IS NOT NULL THEN 4 END, CASE WHEN albumin_min < 2.0 THEN 11 WHEN albumin_min < 2.5 THEN 6 WHEN albumin_min < 4.5 THEN 0 WHEN albumin_min IS NOT NULL THEN 4 END) END, 0) AS albumin_score,
    COALESCE(CASE WHEN bili_max < 2.0 THEN 0 WHEN bili_max < 3.0 THEN 5 WHEN bili_max < 5.0 THEN 6 WHEN bili_max < 8.0 THEN 8 WHEN bili_max IS NOT NULL THEN 16 END, 0) AS bilirubin_score,
    COALESCE(CASE WHEN ABS(glu_max - CAST(130 AS DOUBLE)) > ABS(glu_min - CAST(130 AS DOUBLE)) THEN CASE WHEN glu_max < 40 THEN 8 WHEN glu_max < 60 THEN 9 WHEN glu_max < 200 THEN 0 WHEN glu_max < 350 THEN 3 WHEN glu_max IS NOT NULL THEN 5 END WHEN ABS(glu_max - CAST(130 AS DOUBLE)) < ABS(glu_min - CAST(130 AS DOUBLE)) THEN CASE WHEN glu_min < 40 THEN 8 WHEN glu_min < 60 THEN 9 WHEN glu_min < 200 THEN 0 WHEN glu_min < 350 THEN 3 WHEN glu_min IS NOT NULL THEN 5 END ELSE GREATEST(CASE WHEN glu_max < 40 THEN 8 WHEN glu_max < 60 THEN 9 WHEN glu_max < 200 THEN 0 WHEN glu_max < 350 THEN 3 WHEN glu_max IS NOT NULL THEN 5 END, CASE WHEN glu_min < 40 THEN 8 WHEN glu_min < 60 THEN 9 WHEN glu_min < 200 THEN 0 WHEN glu_min < 350 THEN 3 WHEN glu_min IS NOT NULL THEN 5 END) END, 0) AS glucose_score,
    COALESCE(acidbase, 0) AS acidbase_score,
    CASE WHEN unable = 1 THEN 0
      WHEN eyes = 1 AND verbal = 1 THEN CASE WHEN motor IN (1,2) THEN 48 WHEN motor IN (3,4) THEN 33 WHEN motor IN (5,6) THEN 16 ELSE 0 END
      WHEN eyes = 1 AND verbal IN (2,3) THEN CASE WHEN motor IN (1,2) THEN 29 WHEN motor IN (3,4) THEN 24 ELSE 0 END
      WHEN eyes > 1 AND verbal = 1 THEN CASE WHEN motor IN (1,2) THEN 29 WHEN motor IN (3,4) THEN 24 WHEN motor IN (5,6) THEN 15 ELSE 0 END
      WHEN eyes > 1 AND verbal IN (2,3) THEN CASE WHEN motor IN (1,2) THEN 29 WHEN motor IN (3,4) THEN 24 WHEN motor = 5 THEN 13 WHEN motor = 6 THEN 10 ELSE 0 END
      WHEN eyes > 1 AND verbal = 4 THEN CASE WHEN motor IN (1,2,3,4) THEN 13 WHEN motor = 5 THEN 8 WHEN motor = 6 THEN 3 ELSE 0 END
      WHEN eyes > 1 AND verbal = 5 THEN CASE WHEN motor IN (1,2,3,4,5) THEN 3 ELSE 0 END
      ELSE 0 END AS gcs_score
  FROM inp)
SELECT subject_id, hadm_id, stay_id, hr_score + mbp_score + temp_score + resp_rate_score + pao2_aado2_score + hematocrit_score + wbc_score + creatinine_score + uo_score + bun_score + sodium_score + albumin_score + bilirubin_score + glucose_score + acidbase_score + gcs_score AS apsiii, hr_score, mbp_score, temp_score, resp_rate_score, pao2_aado2_score, hematocrit_score, wbc_score, creatinine_score, uo_score, bun_score, sodium_score, albumin_score, bilirubin_score, glucose_score, acidbase_score, gcs_score FROM sc
