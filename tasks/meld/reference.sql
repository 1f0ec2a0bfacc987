-- MELD-Na of the first ICU day.
-- Grain: one row per ICU stay. A missing laboratory value takes its lowest contribution, so no stay is null.
-- Window: intime - 6 h to intime + 24 h, both ends included (that of the first-day inputs).
-- Units: creatinine and bilirubin mg/dL, sodium mEq/L. Ends: 6 (nothing abnormal) and 40.
-- Source: Kamath PS et al., Hepatology 2001;33:464-470; sodium term Kim WR et al., N Engl J Med 2008;359:1018-1026.
WITH term AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE
            WHEN dialysis.dialysis_present = 1 OR lab.creatinine_max > 4.0 THEN 0.957 * LN(4)
            WHEN lab.creatinine_max >= 1 THEN 0.957 * LN(lab.creatinine_max)
            ELSE 0
        END AS creatinine_term,
        CASE
            WHEN lab.bilirubin_total_max >= 1 THEN 0.378 * LN(lab.bilirubin_total_max)
            ELSE 0
        END AS bilirubin_term,
        CASE
            WHEN lab.inr_max >= 1 THEN 1.120 * LN(lab.inr_max) + 0.643
            ELSE 0.643
        END AS inr_term,
        CASE
            WHEN lab.sodium_min IS NULL OR lab.sodium_min > 137 THEN 0.0
            WHEN lab.sodium_min < 125 THEN 12.0
            ELSE 137.0 - lab.sodium_min
        END AS sodium_term
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON lab.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_rrt AS dialysis ON dialysis.stay_id = stay.stay_id
),

-- rounded to 3 decimals, then to 1, then times 10: the double rounding is part of the definition
initial AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        sodium_term,
        CASE
            WHEN creatinine_term + bilirubin_term + inr_term > 4 THEN 40.0
            ELSE ROUND(TRY_CAST(creatinine_term + bilirubin_term + inr_term AS DECIMAL(18, 3)), 1) * 10
        END AS meld_initial
    FROM term
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    CASE
        WHEN meld_initial > 11 THEN meld_initial + 1.32 * sodium_term - 0.033 * meld_initial * sodium_term
        ELSE meld_initial
    END AS meld
FROM initial
