-- meld: MELD and MELD-Na score of liver disease on the first ICU day.
--
-- Grain:  one row per ICU stay, whatever the age or the liver.
-- Inputs: worst value of the first day (intime - 6 h to + 24 h): highest creatinine, bilirubin and
--         INR, lowest sodium; dialysis counts as the highest creatinine. A missing value scores as normal.
-- Source: Kamath PS et al., Hepatology 2001;33:464-470; Kim WR et al., N Engl J Med
--         2008;359:1018-1026; MIMIC-IV derived concept `meld` (MIT-LCP mimic-code, concepts/organfailure).
-- Units:  points; creatinine and bilirubin mg/dL, sodium mEq/L.
WITH terms AS (
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        rrt.dialysis_present AS rrt,
        lab.creatinine_max,
        lab.bilirubin_total_max,
        lab.inr_max,
        lab.sodium_min,
        -- creatinine counts between 1 and 4 mg/dL; any evidence of dialysis counts as 4
        CASE
            WHEN rrt.dialysis_present = 1 OR lab.creatinine_max > 4.0 THEN 0.957 * LN(4)
            ELSE 0.957 * LN(GREATEST(lab.creatinine_max, 1))  -- GREATEST passes over a missing value
        END AS creatinine_term,
        -- bilirubin and INR count from 1
        0.378 * LN(GREATEST(lab.bilirubin_total_max, 1)) AS bilirubin_term,
        1.120 * LN(GREATEST(lab.inr_max, 1)) + 0.643 AS inr_term,
        -- mEq/L below 137, at most 12
        CASE
            WHEN lab.sodium_min IS NULL OR lab.sodium_min > 137 THEN 0.0
            WHEN lab.sodium_min < 125 THEN 12.0
            ELSE 137.0 - lab.sodium_min
        END AS sodium_term
    FROM mimiciv_icu.icustays AS ie
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON ie.stay_id = lab.stay_id
    LEFT JOIN mimiciv_derived.first_day_rrt AS rrt ON ie.stay_id = rrt.stay_id
),

initial AS (
    SELECT
        *,
        -- rounded to 3, then to 1 decimal (1.0496 gives 1.1), times ten; capped at 40
        CASE
            WHEN creatinine_term + bilirubin_term + inr_term > 4 THEN 40.0
            ELSE ROUND(TRY_CAST(creatinine_term + bilirubin_term + inr_term AS DECIMAL(18, 3)), 1) * 10
        END AS meld_initial
    FROM terms
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    CAST(meld_initial AS DECIMAL(18, 1)) AS meld_initial,
    -- sodium is taken into account from 12 points on
    CASE
        WHEN meld_initial > 11
            THEN meld_initial + 1.32 * sodium_term - 0.033 * meld_initial * sodium_term
        ELSE CAST(meld_initial AS DOUBLE)
    END AS meld,
    rrt,
    creatinine_max,
    bilirubin_total_max,
    inr_max,
    sodium_min
FROM initial
