-- first_day_sofa: Sequential Organ Failure Assessment (SOFA) from the worst values of the first ICU day.
--
-- Grain:  one row per ICU stay. A component without data is NULL; the total counts it as 0.
-- Window: intime - 6 h to intime + 24 h, both ends included; urine from intime.
-- Note:   gases of any specimen count (the hourly `sofa` takes arterial ones only); an infusion
--         counts when it starts in the window; urine is not scaled for stays shorter than a day.
-- Source: Vincent JL et al., Intensive Care Med 1996;22:707-710; MIMIC-IV derived concept
--         `first_day_sofa` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  points 0-4 per component, 0-24 in total.
WITH window_of_stay AS (
    SELECT
        subject_id,
        stay_id,
        intime - INTERVAL '6' HOUR AS window_start,
        intime + INTERVAL '1' DAY AS window_end
    FROM mimiciv_icu.icustays
),

infusion AS (
    SELECT stay_id, starttime, vaso_rate AS norepinephrine FROM mimiciv_derived.norepinephrine
    UNION ALL BY NAME
    SELECT stay_id, starttime, vaso_rate AS epinephrine FROM mimiciv_derived.epinephrine
    UNION ALL BY NAME
    SELECT stay_id, starttime, vaso_rate AS dopamine FROM mimiciv_derived.dopamine
    UNION ALL BY NAME
    SELECT stay_id, starttime, vaso_rate AS dobutamine FROM mimiciv_derived.dobutamine
),

vasopressor AS (
    SELECT
        w.stay_id,
        MAX(infusion.norepinephrine) AS rate_norepinephrine,
        MAX(infusion.epinephrine) AS rate_epinephrine,
        MAX(infusion.dopamine) AS rate_dopamine,
        MAX(infusion.dobutamine) AS rate_dobutamine
    FROM window_of_stay AS w
    INNER JOIN infusion
        ON w.stay_id = infusion.stay_id
        AND infusion.starttime >= w.window_start
        AND infusion.starttime <= w.window_end
    GROUP BY w.stay_id
),

oxygenation AS (
    SELECT
        w.stay_id,
        MIN(CASE WHEN vent.stay_id IS NULL THEN bg.pao2fio2ratio END) AS pf_novent,
        MIN(CASE WHEN vent.stay_id IS NOT NULL THEN bg.pao2fio2ratio END) AS pf_vent
    FROM window_of_stay AS w
    INNER JOIN mimiciv_derived.bg AS bg
        ON w.subject_id = bg.subject_id
        AND bg.charttime >= w.window_start
        AND bg.charttime <= w.window_end
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON w.stay_id = vent.stay_id
        AND bg.charttime >= vent.starttime
        AND bg.charttime <= vent.endtime
        AND vent.ventilation_status = 'InvasiveVent'
    GROUP BY w.stay_id
),

inputs AS (
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        oxygenation.pf_novent,
        oxygenation.pf_vent,
        vasopressor.rate_norepinephrine,
        vasopressor.rate_epinephrine,
        vasopressor.rate_dopamine,
        vasopressor.rate_dobutamine,
        vitals.mbp_min,
        labs.creatinine_max,
        labs.bilirubin_total_max AS bilirubin_max,
        labs.platelets_min,
        urine.urineoutput,
        coma.gcs_min
    FROM mimiciv_icu.icustays AS ie
    LEFT JOIN oxygenation ON ie.stay_id = oxygenation.stay_id
    LEFT JOIN vasopressor ON ie.stay_id = vasopressor.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON ie.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON ie.stay_id = labs.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON ie.stay_id = urine.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS coma ON ie.stay_id = coma.stay_id
),

scored AS (
    -- In each list the first line that holds decides; a missing value holds in none.
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        CASE
            WHEN pf_vent < 100 THEN 4  -- PaO2/FiO2, mmHg
            WHEN pf_vent < 200 THEN 3
            WHEN pf_novent < 300 THEN 2
            WHEN pf_novent < 400 THEN 1
            WHEN COALESCE(pf_vent, pf_novent) IS NULL THEN NULL
            ELSE 0
        END AS respiration,
        CASE
            WHEN platelets_min < 20 THEN 4  -- K/µL
            WHEN platelets_min < 50 THEN 3
            WHEN platelets_min < 100 THEN 2
            WHEN platelets_min < 150 THEN 1
            WHEN platelets_min IS NULL THEN NULL
            ELSE 0
        END AS coagulation,
        CASE
            WHEN bilirubin_max >= 12.0 THEN 4  -- mg/dL
            WHEN bilirubin_max >= 6.0 THEN 3
            WHEN bilirubin_max >= 2.0 THEN 2
            WHEN bilirubin_max >= 1.2 THEN 1
            WHEN bilirubin_max IS NULL THEN NULL
            ELSE 0
        END AS liver,
        CASE
            WHEN rate_dopamine > 15 OR rate_epinephrine > 0.1 OR rate_norepinephrine > 0.1 THEN 4  -- mcg/kg/min
            -- any charted epinephrine or norepinephrine rate, even 0
            WHEN rate_dopamine > 5 OR rate_epinephrine <= 0.1 OR rate_norepinephrine <= 0.1 THEN 3
            WHEN rate_dopamine > 0 OR rate_dobutamine > 0 THEN 2
            WHEN mbp_min < 70 THEN 1  -- mmHg
            WHEN
                COALESCE(
                    mbp_min, rate_dopamine, rate_dobutamine, rate_epinephrine, rate_norepinephrine
                ) IS NULL
                THEN NULL
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN gcs_min >= 13 AND gcs_min <= 14 THEN 1
            WHEN gcs_min >= 10 AND gcs_min <= 12 THEN 2
            WHEN gcs_min >= 6 AND gcs_min <= 9 THEN 3
            WHEN gcs_min < 6 THEN 4
            WHEN gcs_min IS NULL THEN NULL
            ELSE 0
        END AS cns,
        CASE
            WHEN creatinine_max >= 5.0 THEN 4  -- mg/dL
            WHEN urineoutput < 200 THEN 4  -- mL
            WHEN creatinine_max >= 3.5 THEN 3
            WHEN urineoutput < 500 THEN 3
            WHEN creatinine_max >= 2.0 THEN 2
            WHEN creatinine_max >= 1.2 THEN 1
            WHEN COALESCE(creatinine_max, urineoutput) IS NULL THEN NULL
            ELSE 0
        END AS renal
    FROM inputs
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    COALESCE(respiration, 0)
    + COALESCE(coagulation, 0)
    + COALESCE(liver, 0)
    + COALESCE(cardiovascular, 0)
    + COALESCE(cns, 0)
    + COALESCE(renal, 0) AS sofa,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal
FROM scored
