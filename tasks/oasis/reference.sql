-- OASIS of the first ICU day: ten components without any laboratory value, and their sum.
-- Grain: one row per ICU stay with an admission and a patient. A component without data scores 0.
-- Window: vital signs and coma scale intime - 6 h to intime + 24 h; urine and ventilation intime to intime + 24 h.
-- Units: pressures mmHg, temperature deg C, urine mL, age in fractional years, time before the ICU in minutes.
-- Bounds are literal: a value in a gap between two bins (heart rate 106.5, age 89.5) falls through to 0.
-- Source: Johnson AEW et al., Crit Care Med 2013;41:1711-1718, with the conventions of the public MIMIC-IV concept.
WITH stay AS (
    SELECT
        icu.subject_id,
        icu.hadm_id,
        icu.stay_id,
        icu.intime,
        admission.admission_type,
        DATE_DIFF('microseconds', admission.admittime, icu.intime) / 60000000.0 AS preicu_minutes
    FROM mimiciv_icu.icustays AS icu
    INNER JOIN mimiciv_hosp.admissions AS admission ON admission.hadm_id = icu.hadm_id
    INNER JOIN mimiciv_hosp.patients AS patient ON patient.subject_id = icu.subject_id
),

-- any surgical service before the end of the first ICU day
surgery AS (
    SELECT DISTINCT stay.stay_id
    FROM stay
    INNER JOIN mimiciv_hosp.services AS service
        ON service.hadm_id = stay.hadm_id
        AND service.transfertime < stay.intime + INTERVAL 24 HOUR
    WHERE LOWER(service.curr_service) LIKE '%surg%' OR service.curr_service = 'ORTHO'
),

ventilated AS (
    SELECT DISTINCT stay.stay_id
    FROM stay
    INNER JOIN mimiciv_derived.ventilation AS vent ON vent.stay_id = stay.stay_id
    WHERE vent.ventilation_status = 'InvasiveVent'
        AND (
            vent.starttime BETWEEN stay.intime AND stay.intime + INTERVAL 24 HOUR
            OR vent.endtime BETWEEN stay.intime AND stay.intime + INTERVAL 24 HOUR
            OR (vent.starttime <= stay.intime AND vent.endtime >= stay.intime + INTERVAL 24 HOUR)
        )
),

-- the first line that holds gives the points
scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE
            WHEN stay.preicu_minutes < 10.2 THEN 5
            WHEN stay.preicu_minutes < 297 THEN 3
            WHEN stay.preicu_minutes < 1440 THEN 0
            WHEN stay.preicu_minutes < 18708 THEN 2
            WHEN stay.preicu_minutes >= 18708 THEN 1
            ELSE 0
        END AS preiculos_score,
        CASE
            WHEN patient_age.age < 24 THEN 0
            WHEN patient_age.age <= 53 THEN 3
            WHEN patient_age.age <= 77 THEN 6
            WHEN patient_age.age <= 89 THEN 9
            WHEN patient_age.age >= 90 THEN 7
            ELSE 0
        END AS age_score,
        CASE
            WHEN coma.gcs_min <= 7 THEN 10
            WHEN coma.gcs_min < 14 THEN 4
            WHEN coma.gcs_min = 14 THEN 3
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN vital.heart_rate_max > 125 THEN 6
            WHEN vital.heart_rate_min < 33 THEN 4
            WHEN vital.heart_rate_max BETWEEN 107 AND 125 THEN 3
            WHEN vital.heart_rate_max BETWEEN 89 AND 106 THEN 1
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN vital.mbp_min < 20.65 THEN 4
            WHEN vital.mbp_min < 51 THEN 3
            WHEN vital.mbp_max > 143.44 THEN 3
            WHEN vital.mbp_min < 61.33 THEN 2
            ELSE 0
        END AS mbp_score,
        CASE
            WHEN vital.resp_rate_min < 6 THEN 10
            WHEN vital.resp_rate_max > 44 THEN 9
            WHEN vital.resp_rate_max > 30 THEN 6
            WHEN vital.resp_rate_max > 22 THEN 1
            WHEN vital.resp_rate_min < 13 THEN 1
            ELSE 0
        END AS resp_rate_score,
        CASE
            WHEN vital.temperature_max > 39.88 THEN 6
            WHEN vital.temperature_min BETWEEN 33.22 AND 35.93 THEN 4
            WHEN vital.temperature_max BETWEEN 33.22 AND 35.93 THEN 4
            WHEN vital.temperature_min < 33.22 THEN 3
            WHEN vital.temperature_min > 35.93 AND vital.temperature_min <= 36.39 THEN 2
            WHEN vital.temperature_max BETWEEN 36.89 AND 39.88 THEN 2
            ELSE 0
        END AS temp_score,
        CASE
            WHEN urine.urineoutput < 671.09 THEN 10
            WHEN urine.urineoutput > 6896.80 THEN 8
            WHEN urine.urineoutput BETWEEN 671.09 AND 1426.99 THEN 5
            WHEN urine.urineoutput BETWEEN 1427.00 AND 2544.14 THEN 1
            ELSE 0
        END AS urineoutput_score,
        CASE WHEN ventilated.stay_id IS NOT NULL THEN 9 ELSE 0 END AS mechvent_score,
        CASE
            WHEN stay.admission_type = 'ELECTIVE' AND surgery.stay_id IS NOT NULL THEN 0
            WHEN stay.admission_type IS NULL THEN 0
            ELSE 6
        END AS electivesurgery_score
    FROM stay
    LEFT JOIN mimiciv_derived.age AS patient_age ON patient_age.hadm_id = stay.hadm_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS coma ON coma.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON vital.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON urine.stay_id = stay.stay_id
    LEFT JOIN ventilated ON ventilated.stay_id = stay.stay_id
    LEFT JOIN surgery ON surgery.stay_id = stay.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    preiculos_score + age_score + gcs_score + heart_rate_score + mbp_score
    + resp_rate_score + temp_score + urineoutput_score + mechvent_score + electivesurgery_score AS oasis,
    preiculos_score,
    age_score,
    gcs_score,
    heart_rate_score,
    mbp_score,
    resp_rate_score,
    temp_score,
    urineoutput_score,
    mechvent_score,
    electivesurgery_score
FROM scored
