-- First and last charted heart rate of each ICU stay, a bedside view of when the stay began and ended.
-- Grain:  one row per ICU stay; times are empty for a stay without a heart rate.
-- Source: public concept MIT-LCP/mimic-code demographics/icustay_times.
SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    heart_rate.intime_hr,
    heart_rate.outtime_hr
FROM mimiciv_icu.icustays AS stay
LEFT JOIN (
    SELECT stay_id, MIN(charttime) AS intime_hr, MAX(charttime) AS outtime_hr
    FROM mimiciv_icu.chartevents
    WHERE itemid = 220045 -- Heart Rate
    GROUP BY stay_id
) AS heart_rate
    ON stay.stay_id = heart_rate.stay_id
