-- sapsii: Simplified Acute Physiology Score II of the first 24 hours in the ICU, with predicted
-- hospital mortality.
--
-- Grain:  one row per ICU stay that has an admission row. A component without data is NULL; the
--         total counts it as 0.
-- Window: after intime (excluded) to intime + 24 h (included), for everything; no look-back.
-- Link:   vital signs and laboratory by patient; coma scale and urine by stay.
-- Source: Le Gall JR, Lemeshow S, Saulnier F, JAMA 1993;270:2957-2963; MIMIC-IV derived concept
--         `sapsii` (MIT-LCP mimic-code, concepts/score).
-- Units:  points; probability 0-1. Unit of each measurement beside its points.
WITH cohort AS (
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        ie.intime AS starttime,
        ie.intime + INTERVAL '24' HOUR AS endtime,
        adm.admission_type
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_hosp.admissions AS adm ON ie.hadm_id = adm.hadm_id
),

first_service AS (
    -- service to which the patient was first admitted, whenever that was; equal times: alphabetical
    SELECT
        hadm_id,
        LOWER(curr_service) LIKE '%surg%' AS surgical
    FROM mimiciv_hosp.services
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY hadm_id ORDER BY transfertime NULLS FIRST, curr_service NULLS LAST
    ) = 1
),

comorbidity AS (
    -- Codes are compared as text by their first 3, 4 or 5 characters; ranges include both ends.
    SELECT
        hadm_id,
        MAX(CASE
            WHEN icd_version = 9 AND SUBSTR(icd_code, 1, 3) BETWEEN '042' AND '044' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'B20' AND 'B22' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) = 'B24' THEN 1
            ELSE 0
        END) AS aids,
        -- haematologic malignancy
        MAX(CASE
            WHEN
                icd_version = 9
                AND (
                    SUBSTR(icd_code, 1, 5) BETWEEN '20000' AND '20238'  -- lymphoma
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20240' AND '20248'  -- hairy-cell leukaemia
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20250' AND '20302'  -- other lymphoma, myeloma
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20310' AND '20312'  -- plasma-cell leukaemia
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20302' AND '20382'  -- other myeloma
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20400' AND '20522'  -- leukaemia, lymphoid and myeloid
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20580' AND '20702'  -- other leukaemia
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20720' AND '20892'  -- other and unspecified leukaemia
                    OR SUBSTR(icd_code, 1, 4) = '2386'  -- plasma cells, uncertain behaviour
                    OR SUBSTR(icd_code, 1, 4) = '2733'  -- macroglobulinaemia
                )
                THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'C81' AND 'C96' THEN 1
            ELSE 0
        END) AS hem,
        -- metastatic cancer
        MAX(CASE
            WHEN
                icd_version = 9
                AND (
                    SUBSTR(icd_code, 1, 4) BETWEEN '1960' AND '1991'
                    OR SUBSTR(icd_code, 1, 5) BETWEEN '20970' AND '20975'  -- neuroendocrine, secondary
                    OR SUBSTR(icd_code, 1, 5) = '20979'
                    OR SUBSTR(icd_code, 1, 5) = '78951'  -- malignant ascites
                )
                THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'C77' AND 'C79' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 4) = 'C800' THEN 1
            ELSE 0
        END) AS mets
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

vitals AS (
    SELECT
        cohort.stay_id,
        MIN(vs.heart_rate) AS heart_rate_min,
        MAX(vs.heart_rate) AS heart_rate_max,
        MIN(vs.sbp) AS sbp_min,
        MAX(vs.sbp) AS sbp_max,
        MAX(vs.temperature) AS temperature_max
    FROM cohort
    INNER JOIN mimiciv_derived.vitalsign AS vs
        ON cohort.subject_id = vs.subject_id
        AND vs.charttime > cohort.starttime
        AND vs.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

urine AS (
    SELECT
        cohort.stay_id,
        SUM(uo.urineoutput ORDER BY uo.charttime) AS urineoutput
    FROM cohort
    INNER JOIN mimiciv_derived.urine_output AS uo
        ON cohort.stay_id = uo.stay_id
        AND uo.charttime > cohort.starttime
        AND uo.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

chemistry AS (
    SELECT
        cohort.stay_id,
        MAX(lab.bun) AS bun_max,
        MIN(lab.potassium) AS potassium_min,
        MAX(lab.potassium) AS potassium_max,
        MIN(lab.sodium) AS sodium_min,
        MAX(lab.sodium) AS sodium_max,
        MIN(lab.bicarbonate) AS bicarbonate_min
    FROM cohort
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON cohort.subject_id = lab.subject_id
        AND lab.charttime > cohort.starttime
        AND lab.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

blood_count AS (
    SELECT
        cohort.stay_id,
        MIN(lab.wbc) AS wbc_min,
        MAX(lab.wbc) AS wbc_max
    FROM cohort
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON cohort.subject_id = lab.subject_id
        AND lab.charttime > cohort.starttime
        AND lab.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

liver AS (
    SELECT
        cohort.stay_id,
        MAX(lab.bilirubin_total) AS bilirubin_max
    FROM cohort
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON cohort.subject_id = lab.subject_id
        AND lab.charttime > cohort.starttime
        AND lab.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

coma AS (
    SELECT
        cohort.stay_id,
        MIN(gcs.gcs) AS gcs_min
    FROM cohort
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON cohort.stay_id = gcs.stay_id
        AND gcs.charttime > cohort.starttime
        AND gcs.charttime <= cohort.endtime
    GROUP BY cohort.stay_id
),

cpap AS (
    -- one interval per stay: from 1 h before the first to 4 h after the last charting, inside the window
    SELECT
        cohort.subject_id,
        cohort.stay_id,
        GREATEST(MIN(ce.charttime) - INTERVAL '1' HOUR, cohort.starttime) AS starttime,
        LEAST(MAX(ce.charttime) + INTERVAL '4' HOUR, cohort.endtime) AS endtime
    FROM cohort
    INNER JOIN mimiciv_icu.chartevents AS ce
        ON cohort.stay_id = ce.stay_id
        AND ce.charttime > cohort.starttime
        AND ce.charttime <= cohort.endtime
    WHERE
        ce.itemid = 226732  -- O2 Delivery Device(s)
        AND (LOWER(ce.value) LIKE '%cpap mask%' OR LOWER(ce.value) LIKE '%bipap%')
    GROUP BY cohort.subject_id, cohort.stay_id, cohort.starttime, cohort.endtime
),

supported_gas AS (
    -- lowest arterial PaO2/FiO2 under invasive ventilation or CPAP
    SELECT
        cohort.stay_id,
        MIN(bg.pao2fio2ratio) AS pf_vent
    FROM cohort
    INNER JOIN mimiciv_derived.bg AS bg
        ON cohort.subject_id = bg.subject_id
        AND bg.charttime > cohort.starttime
        AND bg.charttime <= cohort.endtime
        AND bg.specimen = 'ART.'
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON cohort.stay_id = vent.stay_id
        AND bg.charttime > vent.starttime
        AND bg.charttime <= vent.endtime
        AND vent.ventilation_status = 'InvasiveVent'
    LEFT JOIN cpap
        ON cohort.subject_id = cpap.subject_id  -- CPAP of another stay of the patient counts too
        AND bg.charttime > cpap.starttime
        AND bg.charttime <= cpap.endtime
    WHERE vent.stay_id IS NOT NULL OR cpap.stay_id IS NOT NULL
    GROUP BY cohort.stay_id
),

scored AS (
    -- In each list the first line that holds decides; a missing value holds in none.
    SELECT
        cohort.subject_id,
        cohort.hadm_id,
        cohort.stay_id,
        cohort.starttime,
        cohort.endtime,
        CASE
            WHEN age.age < 40 THEN 0  -- years, with fraction
            WHEN age.age < 60 THEN 7
            WHEN age.age < 70 THEN 12
            WHEN age.age < 75 THEN 15
            WHEN age.age < 80 THEN 16
            WHEN age.age >= 80 THEN 18
        END AS age_score,
        CASE
            WHEN vitals.heart_rate_max IS NULL THEN NULL
            WHEN vitals.heart_rate_min < 40 THEN 11  -- beats/min
            WHEN vitals.heart_rate_max >= 160 THEN 7
            WHEN vitals.heart_rate_max >= 120 THEN 4
            WHEN vitals.heart_rate_min < 70 THEN 2
            ELSE 0
        END AS hr_score,
        CASE
            WHEN vitals.sbp_min IS NULL THEN NULL
            WHEN vitals.sbp_min < 70 THEN 13  -- mmHg
            WHEN vitals.sbp_min < 100 THEN 5
            WHEN vitals.sbp_max >= 200 THEN 2
            ELSE 0
        END AS sysbp_score,
        CASE
            WHEN vitals.temperature_max IS NULL THEN NULL
            WHEN vitals.temperature_max >= 39.0 THEN 3  -- °C
            ELSE 0
        END AS temp_score,
        CASE
            WHEN gas.pf_vent IS NULL THEN NULL
            WHEN gas.pf_vent < 100 THEN 11  -- mmHg
            WHEN gas.pf_vent < 200 THEN 9
            ELSE 6
        END AS pao2fio2_score,
        CASE
            WHEN urine.urineoutput IS NULL THEN NULL
            WHEN urine.urineoutput < 500.0 THEN 11  -- mL
            WHEN urine.urineoutput < 1000.0 THEN 4
            ELSE 0
        END AS uo_score,
        CASE
            WHEN chemistry.bun_max IS NULL THEN NULL
            WHEN chemistry.bun_max < 28.0 THEN 0  -- mg/dL
            WHEN chemistry.bun_max < 84.0 THEN 6
            ELSE 10
        END AS bun_score,
        CASE
            WHEN blood_count.wbc_max IS NULL THEN NULL
            WHEN blood_count.wbc_min < 1.0 THEN 12  -- K/µL
            WHEN blood_count.wbc_max >= 20.0 THEN 3
            ELSE 0
        END AS wbc_score,
        CASE
            WHEN chemistry.potassium_max IS NULL THEN NULL
            WHEN chemistry.potassium_min < 3.0 THEN 3  -- mEq/L
            WHEN chemistry.potassium_max >= 5.0 THEN 3
            ELSE 0
        END AS potassium_score,
        CASE
            WHEN chemistry.sodium_max IS NULL THEN NULL
            WHEN chemistry.sodium_min < 125 THEN 5  -- mEq/L
            WHEN chemistry.sodium_max >= 145 THEN 1
            ELSE 0
        END AS sodium_score,
        CASE
            WHEN chemistry.bicarbonate_min IS NULL THEN NULL
            WHEN chemistry.bicarbonate_min < 15.0 THEN 6  -- mEq/L
            WHEN chemistry.bicarbonate_min < 20.0 THEN 3
            ELSE 0
        END AS bicarbonate_score,
        CASE
            WHEN liver.bilirubin_max IS NULL THEN NULL
            WHEN liver.bilirubin_max < 4.0 THEN 0  -- mg/dL
            WHEN liver.bilirubin_max < 6.0 THEN 4
            ELSE 9
        END AS bilirubin_score,
        CASE
            WHEN coma.gcs_min < 3 THEN NULL  -- not a valid coma scale
            WHEN coma.gcs_min < 6 THEN 26
            WHEN coma.gcs_min < 9 THEN 13
            WHEN coma.gcs_min < 11 THEN 7
            WHEN coma.gcs_min < 14 THEN 5
            WHEN coma.gcs_min <= 15 THEN 0
        END AS gcs_score,
        CASE
            WHEN comorbidity.aids = 1 THEN 17
            WHEN comorbidity.hem = 1 THEN 10
            WHEN comorbidity.mets = 1 THEN 9
            ELSE 0
        END AS comorbidity_score,
        CASE
            WHEN first_service.surgical AND cohort.admission_type = 'ELECTIVE' THEN 0  -- scheduled surgical
            WHEN first_service.surgical AND cohort.admission_type <> 'ELECTIVE' THEN 8  -- unscheduled surgical
            ELSE 6  -- medical
        END AS admissiontype_score
    FROM cohort
    LEFT JOIN mimiciv_derived.age AS age ON cohort.hadm_id = age.hadm_id
    LEFT JOIN vitals ON cohort.stay_id = vitals.stay_id
    LEFT JOIN supported_gas AS gas ON cohort.stay_id = gas.stay_id
    LEFT JOIN urine ON cohort.stay_id = urine.stay_id
    LEFT JOIN chemistry ON cohort.stay_id = chemistry.stay_id
    LEFT JOIN blood_count ON cohort.stay_id = blood_count.stay_id
    LEFT JOIN liver ON cohort.stay_id = liver.stay_id
    LEFT JOIN coma ON cohort.stay_id = coma.stay_id
    LEFT JOIN comorbidity ON cohort.hadm_id = comorbidity.hadm_id
    LEFT JOIN first_service ON cohort.hadm_id = first_service.hadm_id
),

summed AS (
    SELECT
        *,
        COALESCE(age_score, 0)
        + COALESCE(hr_score, 0)
        + COALESCE(sysbp_score, 0)
        + COALESCE(temp_score, 0)
        + COALESCE(pao2fio2_score, 0)
        + COALESCE(uo_score, 0)
        + COALESCE(bun_score, 0)
        + COALESCE(wbc_score, 0)
        + COALESCE(potassium_score, 0)
        + COALESCE(sodium_score, 0)
        + COALESCE(bicarbonate_score, 0)
        + COALESCE(bilirubin_score, 0)
        + COALESCE(gcs_score, 0)
        + COALESCE(comorbidity_score, 0)
        + COALESCE(admissiontype_score, 0) AS sapsii
    FROM scored
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    starttime,
    endtime,
    sapsii,
    1 / (1 + EXP(-(
        -7.7631 + 0.0737 * CAST(sapsii AS DOUBLE) + 0.9971 * LN(CAST(sapsii AS DOUBLE) + 1)
    ))) AS sapsii_prob,
    age_score,
    hr_score,
    sysbp_score,
    temp_score,
    pao2fio2_score,
    uo_score,
    bun_score,
    wbc_score,
    potassium_score,
    sodium_score,
    bicarbonate_score,
    bilirubin_score,
    gcs_score,
    comorbidity_score,
    admissiontype_score
FROM summed
