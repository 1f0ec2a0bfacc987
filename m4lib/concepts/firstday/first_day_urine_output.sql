-- first_day_urine_output: total urine volume of the first 24 hours in the ICU.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was charted).
-- Window: intime to intime + 24 h, both ends included. Unlike the other first-day tables it does
--         not reach back before admission. Not scaled for stays shorter than a day.
-- Note:   can be negative, because bladder irrigation is counted as negative volume.
--         Added in time order, so that the last digit is always the same.
-- Source: MIMIC-IV derived concept `first_day_urine_output` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  mL.
SELECT
    ie.subject_id,
    ie.stay_id,
    SUM(uo.urineoutput ORDER BY uo.charttime) AS urineoutput
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.urine_output AS uo
    ON ie.stay_id = uo.stay_id
    AND uo.charttime >= ie.intime
    AND uo.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
