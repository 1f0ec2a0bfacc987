-- mimic-sirs-24h-raw, derived from the instruction and the skill sirs-criteria as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH icu AS (SELECT subject_id, hadm_id, stay_id, intime, outtime FROM mimiciv_icu.icustays),
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
cbc AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 51221 THEN valuenum END) AS hct, MAX(CASE WHEN itemid = 51265 THEN valuenum END) AS plt, MAX(CASE WHEN itemid = 51301 THEN valuenum END) AS wbc
  FROM mimiciv_hosp.labevents WHERE itemid IN (51221,51222,51248,51249,51250,51265,51279,51277,52159,51301) AND (valuenum > 0) GROUP BY specimen_id),
diff AS (SELECT specimen_id, MAX(subject_id) AS subject_id, MAX(hadm_id) AS hadm_id, MAX(charttime) AS charttime, MAX(CASE WHEN itemid = 51144 THEN valuenum END) AS bands
  FROM mimiciv_hosp.labevents WHERE itemid IN (51146,52069,51199,51200,52073,51244,51245,51133,52769,51253,51254,52074,51256,52075,51143,51144,51218,52135,51251,51257,51300,51301,51755) AND (valuenum >= 0) GROUP BY specimen_id),
fv AS (SELECT icu.stay_id, MIN(x.temp) AS temp_min, MAX(x.temp) AS temp_max, MIN(x.hr) AS hr_min, MAX(x.hr) AS hr_max, MIN(x.rr) AS rr_min, MAX(x.rr) AS rr_max
  FROM icu JOIN vs x ON x.stay_id = icu.stay_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fb AS (SELECT icu.stay_id, MIN(x.pco2) AS pco2_min
  FROM icu JOIN art x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fw AS (SELECT icu.stay_id, MIN(x.wbc) AS wbc_min, MAX(x.wbc) AS wbc_max
  FROM icu JOIN cbc x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
fd AS (SELECT icu.stay_id, MAX(x.bands) AS bands_max
  FROM icu JOIN diff x ON x.subject_id = icu.subject_id AND x.charttime BETWEEN icu.intime - INTERVAL 6 HOUR AND icu.intime + INTERVAL 24 HOUR GROUP BY icu.stay_id),
sc AS (SELECT icu.subject_id, icu.hadm_id, icu.stay_id,
    CASE WHEN temp_min < 36.0 OR temp_max > 38.0 THEN 1 ELSE 0 END AS temp_score,
    CASE WHEN hr_max > 90 THEN 1 ELSE 0 END AS heart_rate_score,
    CASE WHEN rr_max > 20 OR pco2_min < 32 THEN 1 ELSE 0 END AS resp_score,
    CASE WHEN wbc_min < 4.0 OR wbc_max > 12.0 OR bands_max > 10 THEN 1 ELSE 0 END AS wbc_score
  FROM icu LEFT JOIN fv USING (stay_id) LEFT JOIN fb USING (stay_id) LEFT JOIN fw USING (stay_id) LEFT JOIN fd USING (stay_id))
SELECT subject_id, hadm_id, stay_id, temp_score + heart_rate_score + resp_score + wbc_score AS sirs, temp_score, heart_rate_score, resp_score, wbc_score FROM sc
