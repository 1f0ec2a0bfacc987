-- mimic-sepsis3-raw, derived from the instruction and the skills sepsis-3-cohort, sofa-score, suspicion-of-infection as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
pairs AS (SELECT DISTINCT drug, route FROM mimiciv_hosp.prescriptions
  WHERE drug_type IS NOT NULL AND drug_type <> 'BASE' AND route IS NOT NULL AND route NOT IN ('OU','OS','OD','AU','AS','AD','TP')
    AND NOT CONTAINS(LOWER(route), 'ear') AND NOT CONTAINS(LOWER(route), 'eye')
    AND NOT CONTAINS(LOWER(drug), 'cream') AND NOT CONTAINS(LOWER(drug), 'desensitization') AND NOT CONTAINS(LOWER(drug), 'ophth oint') AND NOT CONTAINS(LOWER(drug), 'gel')
    AND (CONTAINS(LOWER(drug), 'adoxa') OR CONTAINS(LOWER(drug), 'ala-tet') OR CONTAINS(LOWER(drug), 'alodox') OR CONTAINS(LOWER(drug), 'amikacin') OR CONTAINS(LOWER(drug), 'amikin') OR CONTAINS(LOWER(drug), 'amoxicill') OR CONTAINS(LOWER(drug), 'amphotericin') OR CONTAINS(LOWER(drug), 'ampicillin') OR CONTAINS(LOWER(drug), 'ancef') OR CONTAINS(LOWER(drug), 'anidulafungin') OR CONTAINS(LOWER(drug), 'augmentin') OR CONTAINS(LOWER(drug), 'avelox') OR CONTAINS(LOWER(drug), 'avidoxy') OR CONTAINS(LOWER(drug), 'axetil') OR CONTAINS(LOWER(drug), 'azactam') OR CONTAINS(LOWER(drug), 'azithromycin') OR CONTAINS(LOWER(drug), 'aztreonam') OR CONTAINS(LOWER(drug), 'bactocill') OR CONTAINS(LOWER(drug), 'bactrim') OR CONTAINS(LOWER(drug), 'bactroban') OR CONTAINS(LOWER(drug), 'bethkis') OR CONTAINS(LOWER(drug), 'biaxin') OR CONTAINS(LOWER(drug), 'bicillin l-a') OR CONTAINS(LOWER(drug), 'cayston') OR CONTAINS(LOWER(drug), 'cedax') OR CONTAINS(LOWER(drug), 'cefaclor') OR CONTAINS(LOWER(drug), 'cefadroxil') OR CONTAINS(LOWER(drug), 'cefazolin') OR CONTAINS(LOWER(drug), 'cefdinir') OR CONTAINS(LOWER(drug), 'cefditoren') OR CONTAINS(LOWER(drug), 'cefepime') OR CONTAINS(LOWER(drug), 'cefotan') OR CONTAINS(LOWER(drug), 'cefotaxime') OR CONTAINS(LOWER(drug), 'cefotetan') OR CONTAINS(LOWER(drug), 'cefoxitin') OR CONTAINS(LOWER(drug), 'cefpirome') OR CONTAINS(LOWER(drug), 'cefpodoxime') OR CONTAINS(LOWER(drug), 'cefprozil') OR CONTAINS(LOWER(drug), 'ceftaroline') OR CONTAINS(LOWER(drug), 'ceftazidime') OR CONTAINS(LOWER(drug), 'ceftibuten') OR CONTAINS(LOWER(drug), 'ceftin') OR CONTAINS(LOWER(drug), 'ceftriaxone') OR CONTAINS(LOWER(drug), 'cefuroxime') OR CONTAINS(LOWER(drug), 'cephalexin') OR CONTAINS(LOWER(drug), 'cephalothin') OR CONTAINS(LOWER(drug), 'cephapririn') OR CONTAINS(LOWER(drug), 'chloramphenicol') OR CONTAINS(LOWER(drug), 'cipro') OR CONTAINS(LOWER(drug), 'ciprofloxacin') OR CONTAINS(LOWER(drug), 'claforan') OR CONTAINS(LOWER(drug), 'clarithromycin') OR CONTAINS(LOWER(drug), 'clavulanate') OR CONTAINS(LOWER(drug), 'cleocin') OR CONTAINS(LOWER(drug), 'clindamycin') OR CONTAINS(LOWER(drug), 'cubicin') OR CONTAINS(LOWER(drug), 'dicloxacillin') OR CONTAINS(LOWER(drug), 'dirithromycin') OR CONTAINS(LOWER(drug), 'doryx') OR CONTAINS(LOWER(drug), 'doxycy') OR CONTAINS(LOWER(drug), 'duricef') OR CONTAINS(LOWER(drug), 'dynacin') OR CONTAINS(LOWER(drug), 'ery-tab') OR CONTAINS(LOWER(drug), 'eryc') OR CONTAINS(LOWER(drug), 'eryped') OR CONTAINS(LOWER(drug), 'erythrocin') OR CONTAINS(LOWER(drug), 'erythromycin') OR CONTAINS(LOWER(drug), 'factive') OR CONTAINS(LOWER(drug), 'flagyl') OR CONTAINS(LOWER(drug), 'fortaz') OR CONTAINS(LOWER(drug), 'furadantin') OR CONTAINS(LOWER(drug), 'garamycin') OR CONTAINS(LOWER(drug), 'gentamicin') OR CONTAINS(LOWER(drug), 'kanamycin') OR CONTAINS(LOWER(drug), 'keflex') OR CONTAINS(LOWER(drug), 'kefzol') OR CONTAINS(LOWER(drug), 'ketek') OR CONTAINS(LOWER(drug), 'levaquin') OR CONTAINS(LOWER(drug), 'levofloxacin') OR CONTAINS(LOWER(drug), 'lincocin') OR CONTAINS(LOWER(drug), 'linezolid') OR CONTAINS(LOWER(drug), 'macrobid') OR CONTAINS(LOWER(drug), 'macrodantin') OR CONTAINS(LOWER(drug), 'maxipime') OR CONTAINS(LOWER(drug), 'mefoxin') OR CONTAINS(LOWER(drug), 'meropenem') OR CONTAINS(LOWER(drug), 'methicillin') OR CONTAINS(LOWER(drug), 'metronidazole') OR CONTAINS(LOWER(drug), 'minocin') OR CONTAINS(LOWER(drug), 'minocycline') OR CONTAINS(LOWER(drug), 'monodox') OR CONTAINS(LOWER(drug), 'monurol') OR CONTAINS(LOWER(drug), 'morgidox') OR CONTAINS(LOWER(drug), 'moxatag') OR CONTAINS(LOWER(drug), 'moxifloxacin') OR CONTAINS(LOWER(drug), 'mupirocin') OR CONTAINS(LOWER(drug), 'myrac') OR CONTAINS(LOWER(drug), 'nafcillin') OR CONTAINS(LOWER(drug), 'neomycin') OR CONTAINS(LOWER(drug), 'nicazel doxy 30') OR CONTAINS(LOWER(drug), 'nitrofurantoin') OR CONTAINS(LOWER(drug), 'norfloxacin') OR CONTAINS(LOWER(drug), 'noroxin') OR CONTAINS(LOWER(drug), 'ocudox') OR CONTAINS(LOWER(drug), 'ofloxacin') OR CONTAINS(LOWER(drug), 'omnicef') OR CONTAINS(LOWER(drug), 'oracea') OR CONTAINS(LOWER(drug), 'oraxyl') OR CONTAINS(LOWER(drug), 'oxacillin') OR CONTAINS(LOWER(drug), 'panixine') OR CONTAINS(LOWER(drug), 'pc pen vk') OR CONTAINS(LOWER(drug), 'pce dispertab') OR CONTAINS(LOWER(drug), 'pediazole') OR CONTAINS(LOWER(drug), 'penicillin') OR CONTAINS(LOWER(drug), 'periostat') OR CONTAINS(LOWER(drug), 'pfizerpen') OR CONTAINS(LOWER(drug), 'piperacillin') OR CONTAINS(LOWER(drug), 'primsol') OR CONTAINS(LOWER(drug), 'proquin') OR CONTAINS(LOWER(drug), 'raniclor') OR CONTAINS(LOWER(drug), 'rifadin') OR CONTAINS(LOWER(drug), 'rifampin') OR CONTAINS(LOWER(drug), 'rocephin') OR CONTAINS(LOWER(drug), 'septra') OR CONTAINS(LOWER(drug), 'septra ds') OR CONTAINS(LOWER(drug), 'smz-tmp') OR CONTAINS(LOWER(drug), 'solodyn') OR CONTAINS(LOWER(drug), 'spectracef') OR CONTAINS(LOWER(drug), 'streptomycin') OR CONTAINS(LOWER(drug), 'sulfadiazine') OR CONTAINS(LOWER(drug), 'sulfamethoxazole') OR CONTAINS(LOWER(drug), 'sulfatrim') OR CONTAINS(LOWER(drug), 'sulfisoxazole') OR CONTAINS(LOWER(drug), 'suprax') OR CONTAINS(LOWER(drug), 'synercid') OR CONTAINS(LOWER(drug), 'tazicef') OR CONTAINS(LOWER(drug), 'tazobactam') OR CONTAINS(LOWER(drug), 'tetracycline') OR CONTAINS(LOWER(drug), 'timentin') OR CONTAINS(LOWER(drug), 'tobramycin') OR CONTAINS(LOWER(drug), 'trimethoprim') OR CONTAINS(LOWER(drug), 'unasyn') OR CONTAINS(LOWER(drug), 'vancocin') OR CONTAINS(LOWER(drug), 'vancomycin') OR CONTAINS(LOWER(drug), 'vantin') OR CONTAINS(LOWER(drug), 'vibativ') OR CONTAINS(LOWER(drug), 'vibra-tabs') OR CONTAINS(LOWER(drug), 'vibramycin') OR CONTAINS(LOWER(drug), 'zinacef') OR CONTAINS(LOWER(drug), 'zithromax') OR CONTAINS(LOWER(drug), 'zosyn') OR CONTAINS(LOWER(drug), 'zyvox'))),
abx AS (SELECT ROW_NUMBER() OVER () AS abid, p.subject_id, icu.stay_id, p.starttime AS at FROM mimiciv_hosp.prescriptions p JOIN pairs ON pairs.drug = p.drug AND pairs.route = p.route
  JOIN icu ON icu.hadm_id = p.hadm_id AND icu.intime <= p.starttime AND p.starttime < icu.outtime),
cult AS (SELECT micro_specimen_id AS mid, MAX(subject_id) AS subject_id, MAX(charttime) AS ct, CAST(MAX(chartdate) AS DATE) AS cd, MAX(spec_type_desc) AS spec
  FROM mimiciv_hosp.microbiologyevents GROUP BY micro_specimen_id),
mb AS (SELECT a.abid, COALESCE(c.ct, CAST(c.cd AS TIMESTAMP)) AS t, c.spec FROM abx a JOIN cult c ON c.subject_id = a.subject_id AND (
    (c.ct IS NOT NULL AND c.ct < a.at AND a.at <= c.ct + INTERVAL 72 HOUR)
    OR (c.ct IS NULL AND c.cd <= CAST(a.at AS DATE) AND CAST(a.at AS DATE) <= c.cd + 3))
  QUALIFY ROW_NUMBER() OVER (PARTITION BY a.abid ORDER BY c.cd ASC NULLS FIRST, c.ct ASC NULLS LAST, c.mid ASC) = 1),
ma AS (SELECT a.abid, COALESCE(c.ct, CAST(c.cd AS TIMESTAMP)) AS t, c.spec FROM abx a JOIN cult c ON c.subject_id = a.subject_id AND (
    (c.ct IS NOT NULL AND c.ct - INTERVAL 24 HOUR <= a.at AND a.at < c.ct)
    OR (c.ct IS NULL AND c.cd - 1 <= CAST(a.at AS DATE) AND CAST(a.at AS DATE) <= c.cd))
  QUALIFY ROW_NUMBER() OVER (PARTITION BY a.abid ORDER BY c.cd ASC NULLS FIRST, c.ct ASC NULLS LAST, c.mid ASC) = 1),
soi AS (SELECT DISTINCT a.subject_id, a.stay_id, a.at AS antibiotic_time, COALESCE(mb.t, ma.t) AS culture_time, COALESCE(mb.t, a.at) AS it
  FROM abx a LEFT JOIN mb USING (abid) LEFT JOIN ma USING (abid) WHERE mb.spec IS NOT NULL OR ma.spec IS NOT NULL),
hx AS (SELECT stay_id, MIN(charttime) AS h0, MAX(charttime) AS h1 FROM mimiciv_icu.chartevents WHERE itemid = 220045 GROUP BY stay_id),
hb AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id,
    CASE WHEN DATE_TRUNC('hour', h0) = h0 THEN h0 ELSE DATE_TRUNC('hour', h0) + INTERVAL 1 HOUR END AS base, CAST(CEIL(EPOCH(h1 - h0) / 3600.0) AS BIGINT) AS n FROM hx JOIN icu USING (stay_id)),
hours AS (SELECT subject_id, hadm_id, stay_id, hr, base + hr * INTERVAL 1 HOUR AS endt FROM (SELECT *, UNNEST(GENERATE_SERIES(-24, n)) AS hr FROM hb)),
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
chem AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50862 AND valuenum <= 10 THEN valuenum END) AS albumin, MAX(CASE WHEN itemid = 50882 AND valuenum <= 10000 THEN valuenum END) AS bicarb, MAX(CASE WHEN itemid = 51006 AND valuenum <= 300 THEN valuenum END) AS bun, MAX(CASE WHEN itemid = 50912 AND valuenum <= 150 THEN valuenum END) AS creat, MAX(CASE WHEN itemid = 50931 AND valuenum <= 10000 THEN valuenum END) AS gluc, MAX(CASE WHEN itemid = 50983 AND valuenum <= 200 THEN valuenum END) AS sodium, MAX(CASE WHEN itemid = 50971 AND valuenum <= 30 THEN valuenum END) AS potassium
  FROM mimiciv_hosp.labevents WHERE itemid IN (50862,50930,50976,50868,50882,51006,50893,50902,50912,50931,50983,50971) AND (valuenum > 0 OR (itemid = 50868 AND valuenum IS NOT NULL)) GROUP BY specimen_id),
cbc AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 51221 THEN valuenum END) AS hct, MAX(CASE WHEN itemid = 51265 THEN valuenum END) AS plt, MAX(CASE WHEN itemid = 51301 THEN valuenum END) AS wbc
  FROM mimiciv_hosp.labevents WHERE itemid IN (51221,51222,51248,51249,51250,51265,51279,51277,52159,51301) AND (valuenum > 0) GROUP BY specimen_id),
enz AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 50885 THEN valuenum END) AS bili
  FROM mimiciv_hosp.labevents WHERE itemid IN (50861,50863,50878,50867,50885,50883,50884,50910,50911,50927,50954) AND (valuenum > 0) GROUP BY specimen_id),
norepi AS (SELECT stay_id, starttime, endtime,
    CASE WHEN rateuom = 'mg/kg/min' AND patientweight = 1 THEN rate WHEN rateuom = 'mg/kg/min' THEN rate * 1000 ELSE rate END AS rate
  FROM mimiciv_icu.inputevents WHERE itemid = 221906),
epi AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221289),
dopa AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221662),
dobu AS (SELECT stay_id, starttime, endtime, rate FROM mimiciv_icu.inputevents WHERE itemid = 221653),
uo AS (
  SELECT stay_id, charttime, SUM(CASE WHEN itemid = 227488 AND value > 0 THEN -value ELSE value END) AS ml
  FROM mimiciv_icu.outputevents
  WHERE itemid IN (226559,226560,226561,226584,226563,226564,226565,226567,226557,226558,227488,227489)
  GROUP BY stay_id, charttime),
hgas AS (SELECT h.stay_id, h.hr, x.ratio, EXISTS (SELECT 1 FROM inv v WHERE v.stay_id = h.stay_id AND v.starttime <= x.charttime AND x.charttime <= v.endtime) AS ventd
  FROM hours h JOIN art x ON x.subject_id = h.subject_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt),
h_pf AS (SELECT stay_id, hr, MIN(CASE WHEN ventd THEN ratio END) AS pf_v, MIN(CASE WHEN NOT ventd THEN ratio END) AS pf_n FROM hgas GROUP BY stay_id, hr),
h_v AS (SELECT h.stay_id, h.hr, MIN(x.mbp) AS mbp FROM hours h JOIN vs x ON x.stay_id = h.stay_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
h_g AS (SELECT h.stay_id, h.hr, MIN(x.total) AS gcs FROM hours h JOIN gcs x ON x.stay_id = h.stay_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
h_e AS (SELECT h.stay_id, h.hr, MAX(x.bili) AS bili FROM hours h JOIN enz x ON x.hadm_id = h.hadm_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
h_c AS (SELECT h.stay_id, h.hr, MAX(x.creat) AS creat FROM hours h JOIN chem x ON x.hadm_id = h.hadm_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
h_p AS (SELECT h.stay_id, h.hr, MIN(x.plt) AS plt FROM hours h JOIN cbc x ON x.hadm_id = h.hadm_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
h_norepi AS (SELECT h.stay_id, h.hr, MAX(x.rate) AS norepi FROM hours h JOIN norepi x ON x.stay_id = h.stay_id AND x.starttime < h.endt AND h.endt <= x.endtime GROUP BY h.stay_id, h.hr),
h_epi AS (SELECT h.stay_id, h.hr, MAX(x.rate) AS epi FROM hours h JOIN epi x ON x.stay_id = h.stay_id AND x.starttime < h.endt AND h.endt <= x.endtime GROUP BY h.stay_id, h.hr),
h_dopa AS (SELECT h.stay_id, h.hr, MAX(x.rate) AS dopa FROM hours h JOIN dopa x ON x.stay_id = h.stay_id AND x.starttime < h.endt AND h.endt <= x.endtime GROUP BY h.stay_id, h.hr),
h_dobu AS (SELECT h.stay_id, h.hr, MAX(x.rate) AS dobu FROM hours h JOIN dobu x ON x.stay_id = h.stay_id AND x.starttime < h.endt AND h.endt <= x.endtime GROUP BY h.stay_id, h.hr),
ustart AS (SELECT icu.stay_id, MIN(c.charttime) AS h0 FROM icu JOIN mimiciv_icu.chartevents c ON c.stay_id = icu.stay_id AND c.itemid = 220045
    AND c.charttime > icu.intime - INTERVAL 1 MONTH AND c.charttime < icu.outtime + INTERVAL 1 MONTH GROUP BY icu.stay_id),
urec AS (SELECT uo.stay_id, uo.charttime, uo.ml,
    EPOCH(uo.charttime - COALESCE(LAG(uo.charttime) OVER (PARTITION BY uo.stay_id ORDER BY uo.charttime), s.h0)) / 60.0 AS mins
  FROM uo JOIN ustart s ON s.stay_id = uo.stay_id),
u24 AS (SELECT stay_id, charttime, SUM(ml) OVER w AS vol, ROUND(ROUND(SUM(mins) OVER w / 60.0 * 1000) / 10.0) / 100.0 AS tm FROM urec
  WINDOW w AS (PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 23 HOUR PRECEDING AND CURRENT ROW)),
u24k AS (SELECT stay_id, charttime, vol / tm * 24 AS u FROM u24 WHERE tm >= 22 AND tm <= 30),
h_u AS (SELECT h.stay_id, h.hr, MAX(x.u) AS u FROM hours h JOIN u24k x ON x.stay_id = h.stay_id AND x.charttime > h.endt - INTERVAL 1 HOUR AND x.charttime <= h.endt GROUP BY h.stay_id, h.hr),
hs AS (SELECT h.stay_id, h.hr, h.endt,
    CASE WHEN pf_v < 100 THEN 4 WHEN pf_v < 200 THEN 3 WHEN pf_n < 300 THEN 2 WHEN pf_v < 300 THEN 2 WHEN pf_n < 400 THEN 1 WHEN pf_v < 400 THEN 1 WHEN pf_v IS NULL AND pf_n IS NULL THEN NULL ELSE 0 END AS respiration,
    CASE WHEN plt < 20 THEN 4 WHEN plt < 50 THEN 3 WHEN plt < 100 THEN 2 WHEN plt < 150 THEN 1 WHEN plt IS NULL THEN NULL ELSE 0 END AS coagulation,
    CASE WHEN bili >= 12 THEN 4 WHEN bili >= 6 THEN 3 WHEN bili >= 2 THEN 2 WHEN bili >= 1.2 THEN 1 WHEN bili IS NULL THEN NULL ELSE 0 END AS liver,
    CASE WHEN dopa > 15 OR epi > 0.1 OR norepi > 0.1 THEN 4 WHEN dopa > 5 OR epi <= 0.1 OR norepi <= 0.1 THEN 3 WHEN dopa > 0 OR dobu > 0 THEN 2 WHEN mbp < 70 THEN 1
         WHEN COALESCE(mbp, dopa, dobu, epi, norepi) IS NULL THEN NULL ELSE 0 END AS cardiovascular,
    CASE WHEN gcs >= 13 AND gcs <= 14 THEN 1 WHEN gcs >= 10 AND gcs <= 12 THEN 2 WHEN gcs >= 6 AND gcs <= 9 THEN 3 WHEN gcs < 6 THEN 4 WHEN gcs IS NULL THEN NULL ELSE 0 END AS cns,
    CASE WHEN creat >= 5 THEN 4 WHEN u < 200 THEN 4 WHEN creat >= 3.5 THEN 3 WHEN u < 500 THEN 3 WHEN creat >= 2 THEN 2 WHEN creat >= 1.2 THEN 1 WHEN creat IS NULL AND u IS NULL THEN NULL ELSE 0 END AS renal
  FROM hours h LEFT JOIN h_pf ON h_pf.stay_id = h.stay_id AND h_pf.hr = h.hr LEFT JOIN h_v ON h_v.stay_id = h.stay_id AND h_v.hr = h.hr LEFT JOIN h_g ON h_g.stay_id = h.stay_id AND h_g.hr = h.hr LEFT JOIN h_e ON h_e.stay_id = h.stay_id AND h_e.hr = h.hr LEFT JOIN h_c ON h_c.stay_id = h.stay_id AND h_c.hr = h.hr LEFT JOIN h_p ON h_p.stay_id = h.stay_id AND h_p.hr = h.hr LEFT JOIN h_norepi ON h_norepi.stay_id = h.stay_id AND h_norepi.hr = h.hr LEFT JOIN h_epi ON h_epi.stay_id = h.stay_id AND h_epi.hr = h.hr LEFT JOIN h_dopa ON h_dopa.stay_id = h.stay_id AND h_dopa.hr = h.hr LEFT JOIN h_dobu ON h_dobu.stay_id = h.stay_id AND h_dobu.hr = h.hr LEFT JOIN h_u ON h_u.stay_id = h.stay_id AND h_u.hr = h.hr),
h24 AS (SELECT stay_id, hr, endt, COALESCE(MAX(respiration) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS respiration, COALESCE(MAX(coagulation) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS coagulation, COALESCE(MAX(liver) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS liver, COALESCE(MAX(cardiovascular) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS cardiovascular, COALESCE(MAX(cns) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS cns, COALESCE(MAX(renal) OVER (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW), 0) AS renal FROM hs),
sofa AS (SELECT *, respiration + coagulation + liver + cardiovascular + cns + renal AS sofa FROM h24),
q AS (SELECT s.subject_id, s.stay_id, s.antibiotic_time, s.culture_time, s.it, f.endt, f.sofa, f.respiration, f.coagulation, f.liver, f.cardiovascular, f.cns, f.renal
  FROM soi s JOIN sofa f ON f.stay_id = s.stay_id AND f.hr >= 0 AND f.sofa >= 2 AND s.it - INTERVAL 48 HOUR <= f.endt AND f.endt <= s.it + INTERVAL 24 HOUR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY s.stay_id ORDER BY s.it NULLS FIRST, s.antibiotic_time NULLS FIRST, s.culture_time NULLS FIRST, f.endt NULLS FIRST) = 1)
SELECT subject_id, stay_id, antibiotic_time, culture_time, it AS suspected_infection_time, endt AS sofa_time, sofa AS sofa_score, respiration, coagulation, liver, cardiovascular, cns, renal, 1 AS sepsis3 FROM q
