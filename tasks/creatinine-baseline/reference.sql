-- Baseline creatinine of each adult hospital admission.
-- Grain: one row per admission of a patient aged 18 or more.
-- Units: creatinine mg/dL, age in fractional years.
-- Rule: the lowest measured value when it is at most 1.1 or when chronic kidney disease is coded; otherwise the
-- creatinine that the MDRD equation gives at a filtration rate of 75, also when nothing was measured.
-- Source: KDIGO AKI guideline, Kidney Int Suppl 2012;2:1-138; Bellomo R et al., Crit Care 2004;8:R204-R212.
WITH measured AS (
    SELECT hadm_id, MIN(creatinine) AS scr_min
    FROM mimiciv_derived.chemistry
    GROUP BY hadm_id
),

kidney_disease AS (
    SELECT DISTINCT hadm_id
    FROM mimiciv_hosp.diagnoses_icd
    WHERE (icd_version = 9 AND SUBSTR(icd_code, 1, 3) = '585')
        OR (icd_version = 10 AND SUBSTR(icd_code, 1, 3) = 'N18')
),

admission AS (
    SELECT
        patient_age.hadm_id,
        patient.gender,
        patient_age.age,
        measured.scr_min,
        CASE WHEN kidney_disease.hadm_id IS NOT NULL THEN 1 ELSE 0 END AS ckd,
        -- MDRD without the race coefficient, solved for creatinine; the female form only for F
        POWER(
            75.0 / 186.0 / POWER(patient_age.age, -0.203) / CASE WHEN patient.gender = 'F' THEN 0.742 ELSE 1 END,
            -1 / 1.154
        ) AS mdrd_est
    FROM mimiciv_derived.age AS patient_age
    LEFT JOIN mimiciv_hosp.patients AS patient ON patient.subject_id = patient_age.subject_id
    LEFT JOIN measured ON measured.hadm_id = patient_age.hadm_id
    LEFT JOIN kidney_disease ON kidney_disease.hadm_id = patient_age.hadm_id
    WHERE patient_age.age >= 18
)

SELECT
    hadm_id,
    gender,
    age,
    scr_min,
    ckd,
    mdrd_est,
    CASE
        WHEN scr_min <= 1.1 THEN scr_min
        WHEN ckd = 1 THEN scr_min
        ELSE mdrd_est
    END AS scr_baseline
FROM admission
