-- lods: Logistic Organ Dysfunction Score of the first ICU day.
--
-- Grain:  one row per ICU stay. A component without data is NULL (pulmonary: 0); the total counts it
--         as 0. Components are NULL when the admission or patient row of the stay is missing.
-- Window: vital signs, laboratory and coma scale from intime - 6 h to intime + 24 h, urine from
--         intime; gases over the whole ICU stay (intime included, outtime excluded), any specimen.
-- Source: Le Gall JR et al., JAMA 1996;276:802-810; MIMIC-IV derived concept `lods`
--         (MIT-LCP mimic-code, concepts/score).
-- Units:  points. Unit of each measurement beside its points.
WITH cpap AS (
    -- one interval per stay: from 1 h before the first to 4 h after the last charting on day 1
    SELECT
        ie.stay_id,
        MIN(ce.charttime) - INTERVAL '1' HOUR AS starttime,
        MAX(ce.charttime) + INTERVAL '4' HOUR AS endtime
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_icu.chartevents AS ce
        ON ie.stay_id = ce.stay_id
        AND ce.charttime >= ie.intime
        AND ce.charttime <= ie.intime + INTERVAL '1' DAY
    WHERE
        ce.itemid = 226732  -- O2 Delivery Device(s)
        AND (LOWER(ce.value) LIKE '%cpap%' OR LOWER(ce.value) LIKE '%bipap mask%')
    GROUP BY ie.stay_id
),

supported_gas AS (
    -- lowest PaO2/FiO2 under invasive ventilation or CPAP
    SELECT
        ie.stay_id,
        MIN(bg.pao2fio2ratio) AS pf_vent
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.bg AS bg
        ON ie.hadm_id = bg.hadm_id
        AND bg.charttime >= ie.intime
        AND bg.charttime < ie.outtime
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON ie.stay_id = vent.stay_id
        AND bg.charttime >= vent.starttime
        AND bg.charttime <= vent.endtime
        AND vent.ventilation_status = 'InvasiveVent'
    LEFT JOIN cpap
        ON ie.stay_id = cpap.stay_id
        AND bg.charttime >= cpap.starttime
        AND bg.charttime <= cpap.endtime
    WHERE vent.stay_id IS NOT NULL OR cpap.stay_id IS NOT NULL
    GROUP BY ie.stay_id
),

scored AS (
    -- In each list the first line that holds decides; a missing value holds in none.
    SELECT
        ie.stay_id,
        CASE
            WHEN gcs.gcs_min < 3 THEN NULL  -- not a valid coma scale
            WHEN gcs.gcs_min <= 5 THEN 5
            WHEN gcs.gcs_min <= 8 THEN 3
            WHEN gcs.gcs_min <= 13 THEN 1
            WHEN gcs.gcs_min > 13 THEN 0
        END AS neurologic,
        CASE
            WHEN vitals.heart_rate_max IS NULL AND vitals.sbp_min IS NULL THEN NULL
            WHEN vitals.heart_rate_min < 30 THEN 5  -- beats/min
            WHEN vitals.sbp_min < 40 THEN 5  -- mmHg
            WHEN vitals.sbp_min < 70 THEN 3
            WHEN vitals.sbp_max >= 270 THEN 3
            WHEN vitals.heart_rate_max >= 140 THEN 1
            WHEN vitals.sbp_max >= 240 THEN 1
            WHEN vitals.sbp_min < 90 THEN 1
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN labs.bun_max IS NULL OR urine.urineoutput IS NULL OR labs.creatinine_max IS NULL THEN NULL
            WHEN urine.urineoutput < 500.0 THEN 5  -- mL
            WHEN labs.bun_max >= 56.0 THEN 5  -- mg/dL
            WHEN labs.creatinine_max >= 1.60 THEN 3  -- mg/dL
            WHEN urine.urineoutput < 750.0 THEN 3
            WHEN labs.bun_max >= 28.0 THEN 3
            WHEN urine.urineoutput >= 10000.0 THEN 3
            WHEN labs.creatinine_max >= 1.20 THEN 1
            WHEN labs.bun_max >= 17.0 THEN 1
            WHEN labs.bun_max >= 7.50 THEN 1
            ELSE 0
        END AS renal,
        CASE
            WHEN gas.pf_vent IS NULL THEN 0  -- no ventilation or CPAP, or no gas under it
            WHEN gas.pf_vent >= 150 THEN 1  -- mmHg
            ELSE 3
        END AS pulmonary,
        CASE
            WHEN labs.wbc_max IS NULL AND labs.platelets_min IS NULL THEN NULL
            WHEN labs.wbc_min < 1.0 THEN 3  -- K/µL
            WHEN labs.wbc_min < 2.5 THEN 1
            WHEN labs.platelets_min < 50.0 THEN 1  -- K/µL
            WHEN labs.wbc_max >= 50.0 THEN 1
            ELSE 0
        END AS hematologic,
        CASE
            WHEN labs.pt_max IS NULL AND labs.bilirubin_total_max IS NULL THEN NULL
            WHEN labs.bilirubin_total_max >= 2.0 THEN 1  -- mg/dL
            WHEN labs.pt_max > 15 THEN 1  -- prothrombin time, s
            WHEN labs.pt_min < 3.0 THEN 1
            ELSE 0
        END AS hepatic
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_hosp.admissions AS adm ON ie.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON ie.subject_id = pat.subject_id
    LEFT JOIN supported_gas AS gas ON ie.stay_id = gas.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON ie.stay_id = gcs.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON ie.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON ie.stay_id = urine.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON ie.stay_id = labs.stay_id
)

SELECT
    ie.subject_id,
    ie.hadm_id,
    ie.stay_id,
    COALESCE(scored.neurologic, 0)
    + COALESCE(scored.cardiovascular, 0)
    + COALESCE(scored.renal, 0)
    + COALESCE(scored.pulmonary, 0)
    + COALESCE(scored.hematologic, 0)
    + COALESCE(scored.hepatic, 0) AS lods,
    scored.neurologic,
    scored.cardiovascular,
    scored.renal,
    scored.pulmonary,
    scored.hematologic,
    scored.hepatic
FROM mimiciv_icu.icustays AS ie
LEFT JOIN scored ON ie.stay_id = scored.stay_id
