-- first_day_vitalsign: lowest, highest and mean vital signs of the first ICU day.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was charted).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Means:  plain mean over the charted times, not weighted by time, not rounded; added from the
--         smallest value up, so that the last digit does not depend on how the engine read the table.
-- Source: MIMIC-IV derived concept `first_day_vitalsign` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  given beside each group of columns.
SELECT
    ie.subject_id,
    ie.stay_id,
    MIN(vs.heart_rate) AS heart_rate_min,  -- beats/min
    MAX(vs.heart_rate) AS heart_rate_max,
    LIST_AVG(LIST_SORT(LIST(vs.heart_rate))) AS heart_rate_mean,
    MIN(vs.sbp) AS sbp_min,  -- mmHg, arterial and cuff together
    MAX(vs.sbp) AS sbp_max,
    LIST_AVG(LIST_SORT(LIST(vs.sbp))) AS sbp_mean,
    MIN(vs.dbp) AS dbp_min,  -- mmHg
    MAX(vs.dbp) AS dbp_max,
    LIST_AVG(LIST_SORT(LIST(vs.dbp))) AS dbp_mean,
    MIN(vs.mbp) AS mbp_min,  -- mmHg
    MAX(vs.mbp) AS mbp_max,
    LIST_AVG(LIST_SORT(LIST(vs.mbp))) AS mbp_mean,
    MIN(vs.resp_rate) AS resp_rate_min,  -- breaths/min
    MAX(vs.resp_rate) AS resp_rate_max,
    LIST_AVG(LIST_SORT(LIST(vs.resp_rate))) AS resp_rate_mean,
    MIN(vs.temperature) AS temperature_min,  -- °C
    MAX(vs.temperature) AS temperature_max,
    LIST_AVG(LIST_SORT(LIST(vs.temperature))) AS temperature_mean,
    MIN(vs.spo2) AS spo2_min,  -- %
    MAX(vs.spo2) AS spo2_max,
    LIST_AVG(LIST_SORT(LIST(vs.spo2))) AS spo2_mean,
    MIN(vs.glucose) AS glucose_min,  -- mg/dL, bedside
    MAX(vs.glucose) AS glucose_max,
    LIST_AVG(LIST_SORT(LIST(vs.glucose))) AS glucose_mean
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.vitalsign AS vs
    ON ie.stay_id = vs.stay_id
    AND vs.charttime >= ie.intime - INTERVAL '6' HOUR
    AND vs.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
