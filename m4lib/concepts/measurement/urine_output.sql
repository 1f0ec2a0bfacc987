-- Urine volume charted at each time of an ICU stay.
-- Grain:  one row per stay_id and charttime.
-- Source: public concept MIT-LCP/mimic-code measurement/urine_output.
-- Units:  mL; may be negative, because irrigation fluid that goes in is subtracted.
WITH charted AS (
    SELECT
        stay_id,
        charttime,
        CAST(CASE WHEN itemid = 227488 AND value > 0 THEN -value ELSE value END AS DOUBLE) AS volume
    FROM mimiciv_icu.outputevents
    WHERE itemid IN (
        226559, -- Foley
        226560, -- Void
        226561, -- Condom Cath
        226584, -- Ileoconduit
        226563, -- Suprapubic
        226564, -- R Nephrostomy
        226565, -- L Nephrostomy
        226567, -- Straight Cath
        226557, -- R Ureteral Stent
        226558, -- L Ureteral Stent
        227488, -- GU Irrigant Volume In
        227489  -- GU Irrigant/Urine Volume Out
    )
)

SELECT
    stay_id,
    charttime,
    -- added from the smallest to the largest, so that the sum does not depend on the engine
    LIST_SUM(LIST_SORT(LIST(volume))) AS urineoutput
FROM charted
GROUP BY stay_id, charttime
