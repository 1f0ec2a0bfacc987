-- Lowest Glasgow Coma Scale of the first ICU day, with the components charted at that minimum.
-- Grain: one row per ICU stay. Without any reading: total 15, motor 6, verbal 5, eyes 4.
-- Window: intime - 6 h to intime + 24 h, both ends included.
-- Convention: an intubated reading totals 15 and keeps verbal 0 (built into the derived readings).
-- Source: Teasdale G, Jennett B, Lancet 1974;2:81-84; intubation rule as in Le Gall JR et al., JAMA 1993;270:2957-2963.
WITH reading AS (
    SELECT
        stay.stay_id,
        coma.gcs,
        coma.gcs_motor,
        coma.gcs_verbal,
        coma.gcs_eyes
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.gcs AS coma
        ON coma.stay_id = stay.stay_id
        AND coma.charttime BETWEEN stay.intime - INTERVAL 6 HOUR AND stay.intime + INTERVAL 24 HOUR
    -- equal totals: the earliest reading, then the lowest components
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY stay.stay_id
        ORDER BY
            coma.gcs NULLS LAST,
            coma.charttime NULLS LAST,
            coma.gcs_motor NULLS LAST,
            coma.gcs_verbal NULLS LAST,
            coma.gcs_eyes NULLS LAST,
            coma.gcs_unable NULLS LAST
    ) = 1
)

SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    COALESCE(reading.gcs, 15) AS gcs_min,
    COALESCE(reading.gcs_motor, 6) AS gcs_motor,
    COALESCE(reading.gcs_verbal, 5) AS gcs_verbal,
    COALESCE(reading.gcs_eyes, 4) AS gcs_eyes
FROM mimiciv_icu.icustays AS stay
LEFT JOIN reading ON reading.stay_id = stay.stay_id
