-- first_day_vitalsign: lowest, highest and mean vital signs of the first ICU day.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was charted).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Means:  plain mean over the charted times, not weighted by time, not rounded; added in time
--         order, so that the last digit does not depend on how the engine read the table.
-- Source: MIMIC-IV derived concept `first_day_vitalsign` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  given beside each group of columns.
SELECT
    ie.subject_id,
    ie.stay_id,
    MIN(vs.heart_rate) AS heart_rate_min,  -- beats/min
    MAX(vs.heart_rate) AS heart_rate_max,
    AVG(vs.heart_rate ORDER BY vs.charttime) AS heart_rate_mean,
    MIN(vs.sbp) AS sbp_min,  -- mmHg, arterial and cuff together
    MAX(vs.sbp) AS sbp_max,
    AVG(vs.sbp ORDER BY vs.charttime) AS sbp_mean,
    MIN(vs.dbp) AS dbp_min,  -- mmHg
    MAX(vs.dbp) AS dbp_max,
    AVG(vs.dbp ORDER BY vs.charttime) AS dbp_mean,
    MIN(vs.mbp) AS mbp_min,  -- mmHg
    MAX(vs.mbp) AS mbp_max,
    AVG(vs.mbp ORDER BY vs.charttime) AS mbp_mean,
    MIN(vs.resp_rate) AS resp_rate_min,  -- breaths/min
    MAX(vs.resp_rate) AS resp_rate_max,
    AVG(vs.resp_rate ORDER BY vs.charttime) AS resp_rate_mean,
    MIN(vs.temperature) AS temperature_min,  -- °C
    MAX(vs.temperature) AS temperature_max,
    AVG(vs.temperature ORDER BY vs.charttime) AS temperature_mean,
    MIN(vs.spo2) AS spo2_min,  -- %
    MAX(vs.spo2) AS spo2_max,
    AVG(vs.spo2 ORDER BY vs.charttime) AS spo2_mean,
    MIN(vs.glucose) AS glucose_min,  -- mg/dL, bedside
    MAX(vs.glucose) AS glucose_max,
    AVG(vs.glucose ORDER BY vs.charttime) AS glucose_mean
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.vitalsign AS vs
    ON ie.stay_id = vs.stay_id
    AND vs.charttime >= ie.intime - INTERVAL '6' HOUR
    AND vs.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
