-- SIRS criteria of the first ICU day: four criteria of 0 or 1 and their count.
-- Grain: one row per ICU stay. A criterion without data scores 0.
-- Window: intime - 6 h to intime + 24 h, both ends included. All comparisons are strict.
-- Units: temperature deg C, rates per minute, PaCO2 mmHg (arterial), white cells 10^9/L, bands percent.
-- Source: Bone RC et al., Chest 1992;101:1644-1655, with the conventions of the public MIMIC-IV concept.
WITH scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE WHEN vital.temperature_min < 36.0 OR vital.temperature_max > 38.0 THEN 1 ELSE 0 END AS temp_score,
        CASE WHEN vital.heart_rate_max > 90 THEN 1 ELSE 0 END AS heart_rate_score,
        CASE WHEN vital.resp_rate_max > 20 OR gas.pco2_min < 32 THEN 1 ELSE 0 END AS resp_score,
        CASE WHEN lab.wbc_min < 4.0 OR lab.wbc_max > 12.0 OR lab.bands_max > 10 THEN 1 ELSE 0 END AS wbc_score
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON vital.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_bg_art AS gas ON gas.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON lab.stay_id = stay.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    temp_score + heart_rate_score + resp_score + wbc_score AS sirs,
    temp_score,
    heart_rate_score,
    resp_score,
    wbc_score
FROM scored
