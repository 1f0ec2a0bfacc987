-- first_day_rrt: whether renal replacement therapy was charted on the first ICU day, and which kinds.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL, not 0, where nothing was charted).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Note:   presence is any evidence, also an unused dialysis catheter; activity is running therapy.
-- Source: MIMIC-IV derived concept `first_day_rrt` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  flags 0/1; the kinds are listed once each, in alphabetical order.
SELECT
    ie.subject_id,
    ie.stay_id,
    MAX(rrt.dialysis_present) AS dialysis_present,
    MAX(rrt.dialysis_active) AS dialysis_active,
    STRING_AGG(DISTINCT rrt.dialysis_type, ', ' ORDER BY rrt.dialysis_type) AS dialysis_type
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.rrt AS rrt
    ON ie.stay_id = rrt.stay_id
    AND rrt.charttime >= ie.intime - INTERVAL '6' HOUR
    AND rrt.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
