-- Baseline serum creatinine of an adult admission: the lowest measured value when it is normal or the patient has chronic
-- kidney disease, else the value that the MDRD equation gives for a glomerular filtration rate of 75.
-- Grain:  one row per hospital admission at 18 years or older.
-- Source: Levey et al., Ann Intern Med 1999;130:461-470 (MDRD); Siew et al., Clin J Am Soc Nephrol 2012;7:712-719;
--         public concept MIT-LCP/mimic-code measurement/creatinine_baseline.
-- Units:  mg/dL, age in years, GFR in mL/min per 1.73 m2.
WITH adult AS (
    SELECT
        age.hadm_id,
        patient.gender,
        age.age,
        -- GFR = 186 x creatinine^-1.154 x age^-0.203 (x 0.742 in women), solved for creatinine at GFR 75
        POWER(
            CASE
                WHEN patient.gender = 'F' THEN 75.0 / 186.0 / POWER(age.age, -0.203) / 0.742
                ELSE 75.0 / 186.0 / POWER(age.age, -0.203)
            END,
            -1 / 1.154
        ) AS mdrd_est
    FROM mimiciv_derived.age AS age
    LEFT JOIN mimiciv_hosp.patients AS patient
        ON age.subject_id = patient.subject_id
    WHERE age.age >= 18
),

lowest AS (
    SELECT hadm_id, MIN(creatinine) AS scr_min
    FROM mimiciv_derived.chemistry
    GROUP BY hadm_id
),

chronic_kidney_disease AS (
    SELECT DISTINCT hadm_id
    FROM mimiciv_hosp.diagnoses_icd
    WHERE (LEFT(icd_code, 3) = '585' AND icd_version = 9)
        OR (LEFT(icd_code, 3) = 'N18' AND icd_version = 10)
)

SELECT
    adult.hadm_id,
    adult.gender,
    adult.age,
    lowest.scr_min,
    CASE WHEN ckd.hadm_id IS NOT NULL THEN 1 ELSE 0 END AS ckd,
    adult.mdrd_est,
    CASE
        WHEN lowest.scr_min <= 1.1 THEN lowest.scr_min
        WHEN ckd.hadm_id IS NOT NULL THEN lowest.scr_min
        ELSE adult.mdrd_est
    END AS scr_baseline
FROM adult
LEFT JOIN lowest
    ON adult.hadm_id = lowest.hadm_id
LEFT JOIN chronic_kidney_disease AS ckd
    ON adult.hadm_id = ckd.hadm_id
