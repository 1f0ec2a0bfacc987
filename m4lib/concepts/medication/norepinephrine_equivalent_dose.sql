-- Vasopressor load as norepinephrine equivalents.
-- Grain:  one row per row of vasoactive_agent with a vasopressor; inotropes (dobutamine, milrinone) do not count.
-- Source: Goradia et al., J Crit Care 2021;61:233-240; public concept
--         MIT-LCP/mimic-code medication/norepinephrine_equivalent_dose.
-- Units:  mcg/kg/min with three decimals; vasopressin comes in units/h and counts 2.5 per unit/min.
SELECT
    stay_id,
    starttime,
    endtime,
    TRY_CAST(
        COALESCE(norepinephrine, 0)
        + COALESCE(epinephrine, 0)
        + COALESCE(phenylephrine / 10, 0)
        + COALESCE(dopamine / 100, 0)
        + COALESCE(vasopressin * 2.5 / 60, 0)
        AS DECIMAL(18, 3)
    ) AS norepinephrine_equivalent_dose
FROM mimiciv_derived.vasoactive_agent
WHERE norepinephrine IS NOT NULL
    OR epinephrine IS NOT NULL
    OR phenylephrine IS NOT NULL
    OR dopamine IS NOT NULL
    OR vasopressin IS NOT NULL
