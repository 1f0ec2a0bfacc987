-- first_day_gcs: lowest Glasgow Coma Scale of the first ICU day, with the components of that reading.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was charted).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Choice: lowest total. Equal totals (for example 15 while intubated and 15 awake): earliest
--         charted time, then lower motor, verbal, eye score, then not intubated first.
-- Source: Teasdale & Jennett, Lancet 1974; MIMIC-IV derived concept `first_day_gcs`
--         (MIT-LCP mimic-code, concepts/firstday).
-- Units:  points; gcs_unable is 1 when the verbal score could not be tested (endotracheal tube).
WITH lowest AS (
    SELECT
        ie.stay_id,
        gcs.gcs,
        gcs.gcs_motor,
        gcs.gcs_verbal,
        gcs.gcs_eyes,
        gcs.gcs_unable
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON ie.stay_id = gcs.stay_id
        AND gcs.charttime >= ie.intime - INTERVAL '6' HOUR
        AND gcs.charttime <= ie.intime + INTERVAL '1' DAY
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY ie.stay_id
        ORDER BY
            gcs.gcs NULLS FIRST,
            gcs.charttime NULLS LAST,
            gcs.gcs_motor NULLS LAST,
            gcs.gcs_verbal NULLS LAST,
            gcs.gcs_eyes NULLS LAST,
            gcs.gcs_unable NULLS LAST
    ) = 1
)

SELECT
    ie.subject_id,
    ie.stay_id,
    lowest.gcs AS gcs_min,
    lowest.gcs_motor,
    lowest.gcs_verbal,
    lowest.gcs_eyes,
    lowest.gcs_unable
FROM mimiciv_icu.icustays AS ie
LEFT JOIN lowest ON ie.stay_id = lowest.stay_id
