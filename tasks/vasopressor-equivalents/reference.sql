-- Norepinephrine-equivalent dose in every interval of constant vasoactive treatment.
-- Grain: one row per ICU stay and interval start; intervals without any of the five vasopressors are absent.
-- Unit: mcg/kg/min of norepinephrine; vasopressin is charted in units per hour.
-- Rounding: 3 decimals survive, because the sum passes through DECIMAL(18,3).
-- Source: Goradia S et al., J Crit Care 2021;61:233-240; Brown SM et al., Chest 2013;143:664-671.
WITH dose AS (
    SELECT
        stay_id,
        starttime,
        endtime,
        ROUND(
            TRY_CAST(
                COALESCE(norepinephrine, 0)
                + COALESCE(epinephrine, 0)
                + COALESCE(phenylephrine / 10, 0)
                + COALESCE(dopamine / 100, 0)
                + COALESCE(vasopressin * 2.5 / 60, 0) AS DECIMAL(18, 3)
            ),
            4
        ) AS norepinephrine_equivalent_dose
    FROM mimiciv_derived.vasoactive_agent
    WHERE norepinephrine IS NOT NULL
        OR epinephrine IS NOT NULL
        OR phenylephrine IS NOT NULL
        OR dopamine IS NOT NULL
        OR vasopressin IS NOT NULL
)

-- overlapping orders of one drug repeat an interval; the highest dose stands
SELECT
    stay_id,
    starttime,
    endtime,
    MAX(norepinephrine_equivalent_dose) AS norepinephrine_equivalent_dose
FROM dose
GROUP BY stay_id, starttime, endtime
