-- mimic-sofa-24h-raw, derived from the instruction and the skill sofa-score as a run receives them.
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
norepi AS (SELECT stay_id, starttime, endtime,
    CASE WHEN rateuom = 'mg/kg/min' AND patientweight = 1 THEN rate WHEN rateuom = 'mg/kg/min' THEN rate * 1000 ELSE rate END AS rate
  FROM mimiciv_icu.inputevents WHERE itemid = 221906),
epi AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221289),
dopa AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221662),
dobu AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221653),
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
fv AS (SELECT icu.stay_id, MIN(x.mbp) AS mbp_min, MAX(x.mbp) AS mbp_max
  FROM icu JOIN vs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fg AS (SELECT icu.stay_id, x.total, x.motor, x.verbal, x.eyes, x.unable
  FROM icu JOIN gcs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY icu.stay_id ORDER BY x.total ASC NULLS LAST, x.charttime ASC NULLS LAST, x.motor ASC NULLS LAST, x.verbal ASC NULLS LAST, x.eyes ASC NULLS LAST, x.unable ASC NULLS LAST) = 1),
fu AS (SELECT icu.stay_id, SUM(x.ml) AS ml
  FROM icu JOIN uo x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fcb AS (SELECT icu.stay_id, MIN(x.plt) AS plt_min
  FROM icu JOIN cbc x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fch AS (SELECT icu.stay_id, MAX(x.creat) AS creat_max
  FROM icu JOIN chem x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fen AS (SELECT icu.stay_id, MAX(x.bili) AS bili_max
  FROM icu JOIN enz x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fl AS (SELECT icu.stay_id, plt_min, creat_max, bili_max FROM icu LEFT JOIN fcb USING (stay_id) LEFT JOIN fch USING (stay_id) LEFT JOIN fen USING (stay_id)),
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
