-- first_day_height: mean body height charted on the first ICU day.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was charted).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Source: MIMIC-IV derived concept `first_day_height` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  cm, rounded to 3 and then to 2 decimals.
SELECT
    ie.subject_id,
    ie.stay_id,
    ROUND(TRY_CAST(AVG(ht.height ORDER BY ht.height) AS DECIMAL(18, 3)), 2) AS height
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.height AS ht
    ON ie.stay_id = ht.stay_id
    AND ht.charttime >= ie.intime - INTERVAL '6' HOUR
    AND ht.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
