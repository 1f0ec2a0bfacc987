-- sirs: criteria of the systemic inflammatory response syndrome met on the first ICU day.
--
-- Grain:  one row per ICU stay. A criterion without data is NULL; the total counts it as 0.
-- Window: intime - 6 h to intime + 24 h, both ends included.
-- Source: Bone RC et al., Chest 1992;101:1644-1655; MIMIC-IV derived concept `sirs`
--         (MIT-LCP mimic-code, concepts/score).
-- Units:  0/1 per criterion, 0-4 in total.
WITH scored AS (
    -- In each list the first line that holds decides; a missing value holds in none.
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        CASE
            WHEN vitals.temperature_min < 36.0 THEN 1  -- °C
            WHEN vitals.temperature_max > 38.0 THEN 1
            WHEN vitals.temperature_min IS NULL THEN NULL
            ELSE 0
        END AS temp_score,
        CASE
            WHEN vitals.heart_rate_max > 90.0 THEN 1  -- beats/min
            WHEN vitals.heart_rate_max IS NULL THEN NULL
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN vitals.resp_rate_max > 20.0 THEN 1  -- breaths/min
            WHEN gas.pco2_min < 32.0 THEN 1  -- mmHg, arterial
            WHEN COALESCE(vitals.resp_rate_max, gas.pco2_min) IS NULL THEN NULL
            ELSE 0
        END AS resp_score,
        CASE
            WHEN labs.wbc_min < 4.0 THEN 1  -- K/µL
            WHEN labs.wbc_max > 12.0 THEN 1
            WHEN labs.bands_max > 10 THEN 1  -- % immature forms
            WHEN COALESCE(labs.wbc_min, labs.bands_max) IS NULL THEN NULL
            ELSE 0
        END AS wbc_score
    FROM mimiciv_icu.icustays AS ie
    LEFT JOIN mimiciv_derived.first_day_bg_art AS gas ON ie.stay_id = gas.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON ie.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON ie.stay_id = labs.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    COALESCE(temp_score, 0)
    + COALESCE(heart_rate_score, 0)
    + COALESCE(resp_score, 0)
    + COALESCE(wbc_score, 0) AS sirs,
    temp_score,
    heart_rate_score,
    resp_score,
    wbc_score
FROM scored
