-- oasis: Oxford Acute Severity of Illness Score of the first ICU day, with the values behind it.
--
-- Grain:  one row per ICU stay that has an admission and a patient row. A component without data is
--         NULL; the total counts it as 0.
-- Window: vital signs and coma scale from intime - 6 h to intime + 24 h, urine from intime.
-- Source: Johnson AEW, Kramer AA, Clifford GD, Crit Care Med 2013;41:1711-1718; MIMIC-IV derived
--         concept `oasis` (MIT-LCP mimic-code, concepts/score).
-- Units:  points; predicted mortality 0-1; pre-ICU stay in minutes, age in years with fraction,
--         rates per minute, pressure mmHg, temperature °C, urine mL.
WITH surgery AS (
    -- under a surgical service at any time before the end of the first ICU day
    SELECT
        ie.stay_id,
        MAX(CASE
            WHEN LOWER(se.curr_service) LIKE '%surg%' OR se.curr_service = 'ORTHO' THEN 1
            ELSE 0
        END) AS surgical
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_hosp.services AS se
        ON ie.hadm_id = se.hadm_id
        AND se.transfertime < ie.intime + INTERVAL '1' DAY
    GROUP BY ie.stay_id
),

ventilated AS (
    -- invasive ventilation that begins on, ends on or spans the first ICU day
    SELECT DISTINCT ie.stay_id
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.ventilation AS vent
        ON ie.stay_id = vent.stay_id
        AND vent.ventilation_status = 'InvasiveVent'
    WHERE
        (vent.starttime >= ie.intime AND vent.starttime <= ie.intime + INTERVAL '1' DAY)
        OR (vent.endtime >= ie.intime AND vent.endtime <= ie.intime + INTERVAL '1' DAY)
        OR (vent.starttime <= ie.intime AND vent.endtime >= ie.intime + INTERVAL '1' DAY)
),

inputs AS (
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        age.age,
        (EPOCH_US(ie.intime) - EPOCH_US(adm.admittime)) / 60000000.0 AS preiculos,
        gcs.gcs_min,
        vitals.heart_rate_min,
        vitals.heart_rate_max,
        vitals.mbp_min,
        vitals.mbp_max,
        vitals.resp_rate_min,
        vitals.resp_rate_max,
        vitals.temperature_min,
        vitals.temperature_max,
        urine.urineoutput,
        CASE WHEN ventilated.stay_id IS NOT NULL THEN 1 ELSE 0 END AS mechvent,
        CASE
            WHEN adm.admission_type = 'ELECTIVE' AND surgery.surgical = 1 THEN 1
            WHEN adm.admission_type IS NULL THEN NULL
            ELSE 0
        END AS electivesurgery
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_hosp.admissions AS adm ON ie.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON ie.subject_id = pat.subject_id
    LEFT JOIN mimiciv_derived.age AS age ON ie.hadm_id = age.hadm_id
    LEFT JOIN surgery ON ie.stay_id = surgery.stay_id
    LEFT JOIN ventilated ON ie.stay_id = ventilated.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON ie.stay_id = gcs.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON ie.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON ie.stay_id = urine.stay_id
),

scored AS (
    -- In each list the first line that holds decides; a missing value holds in none. Limits are
    -- literal: a value in the gap between two printed ranges goes to the last line.
    SELECT
        *,
        CASE
            WHEN age < 24 THEN 0
            WHEN age <= 53 THEN 3
            WHEN age <= 77 THEN 6
            WHEN age <= 89 THEN 9
            WHEN age >= 90 THEN 7
            WHEN age IS NULL THEN NULL
            ELSE 0  -- between 89 and 90
        END AS age_score,
        CASE
            WHEN preiculos < 10.2 THEN 5
            WHEN preiculos < 297 THEN 3
            WHEN preiculos < 1440 THEN 0
            WHEN preiculos < 18708 THEN 2
            WHEN preiculos >= 18708 THEN 1
        END AS preiculos_score,
        CASE
            WHEN gcs_min <= 7 THEN 10
            WHEN gcs_min < 14 THEN 4
            WHEN gcs_min = 14 THEN 3
            WHEN gcs_min IS NULL THEN NULL
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN heart_rate_max IS NULL THEN NULL
            WHEN heart_rate_max > 125 THEN 6
            WHEN heart_rate_min < 33 THEN 4
            WHEN heart_rate_max >= 107 AND heart_rate_max <= 125 THEN 3
            WHEN heart_rate_max >= 89 AND heart_rate_max <= 106 THEN 1
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN mbp_min IS NULL THEN NULL
            WHEN mbp_min < 20.65 THEN 4
            WHEN mbp_min < 51 THEN 3
            WHEN mbp_max > 143.44 THEN 3
            WHEN mbp_min >= 51 AND mbp_min < 61.33 THEN 2
            ELSE 0
        END AS mbp_score,
        CASE
            WHEN resp_rate_min IS NULL THEN NULL
            WHEN resp_rate_min < 6 THEN 10
            WHEN resp_rate_max > 44 THEN 9
            WHEN resp_rate_max > 30 THEN 6
            WHEN resp_rate_max > 22 THEN 1
            WHEN resp_rate_min < 13 THEN 1
            ELSE 0
        END AS resp_rate_score,
        CASE
            WHEN temperature_max IS NULL THEN NULL
            WHEN temperature_max > 39.88 THEN 6
            WHEN temperature_min >= 33.22 AND temperature_min <= 35.93 THEN 4
            WHEN temperature_max >= 33.22 AND temperature_max <= 35.93 THEN 4
            WHEN temperature_min < 33.22 THEN 3
            WHEN temperature_min > 35.93 AND temperature_min <= 36.39 THEN 2
            WHEN temperature_max >= 36.89 AND temperature_max <= 39.88 THEN 2
            ELSE 0
        END AS temp_score,
        CASE
            WHEN urineoutput < 671.09 THEN 10
            WHEN urineoutput > 6896.80 THEN 8
            WHEN urineoutput >= 671.09 AND urineoutput <= 1426.99 THEN 5
            WHEN urineoutput >= 1427.00 AND urineoutput <= 2544.14 THEN 1
            WHEN urineoutput IS NULL THEN NULL
            ELSE 0
        END AS urineoutput_score,
        CASE WHEN mechvent = 1 THEN 9 ELSE 0 END AS mechvent_score,
        CASE
            WHEN electivesurgery = 1 THEN 0
            WHEN electivesurgery = 0 THEN 6
        END AS electivesurgery_score
    FROM inputs
),

summed AS (
    SELECT
        *,
        COALESCE(age_score, 0)
        + COALESCE(preiculos_score, 0)
        + COALESCE(gcs_score, 0)
        + COALESCE(heart_rate_score, 0)
        + COALESCE(mbp_score, 0)
        + COALESCE(resp_rate_score, 0)
        + COALESCE(temp_score, 0)
        + COALESCE(urineoutput_score, 0)
        + COALESCE(mechvent_score, 0)
        + COALESCE(electivesurgery_score, 0) AS oasis
    FROM scored
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    oasis,
    1 / (1 + EXP(-(-6.1746 + 0.1275 * CAST(oasis AS DOUBLE)))) AS oasis_prob,
    age,
    age_score,
    preiculos,
    preiculos_score,
    gcs_min AS gcs,
    gcs_score,
    -- the extreme that earned the points, or the middle of both when none did
    CASE
        WHEN heart_rate_max IS NULL THEN NULL
        WHEN heart_rate_max > 125 THEN heart_rate_max
        WHEN heart_rate_min < 33 THEN heart_rate_min
        WHEN heart_rate_score > 0 THEN heart_rate_max
        ELSE (heart_rate_min + heart_rate_max) / 2
    END AS heartrate,
    heart_rate_score,
    CASE
        WHEN mbp_min IS NULL THEN NULL
        WHEN mbp_min < 51 THEN mbp_min
        WHEN mbp_max > 143.44 THEN mbp_max
        WHEN mbp_score > 0 THEN mbp_min
        ELSE (mbp_min + mbp_max) / 2
    END AS meanbp,
    mbp_score,
    CASE
        WHEN resp_rate_min IS NULL THEN NULL
        WHEN resp_rate_min < 6 THEN resp_rate_min
        WHEN resp_rate_max > 22 THEN resp_rate_max
        WHEN resp_rate_score > 0 THEN resp_rate_min
        ELSE (resp_rate_min + resp_rate_max) / 2
    END AS resprate,
    resp_rate_score,
    CAST(CASE
        WHEN temperature_max IS NULL THEN NULL
        WHEN temperature_max > 39.88 THEN temperature_max
        WHEN temperature_min >= 33.22 AND temperature_min <= 35.93 THEN temperature_min
        WHEN temperature_max >= 33.22 AND temperature_max <= 35.93 THEN temperature_max
        WHEN temperature_min <= 36.39 THEN temperature_min
        WHEN temp_score = 0 THEN (temperature_min + temperature_max) / 2
        ELSE temperature_max
    END AS DOUBLE) AS temp,
    temp_score,
    urineoutput,
    urineoutput_score,
    mechvent,
    mechvent_score,
    electivesurgery,
    electivesurgery_score
FROM summed
