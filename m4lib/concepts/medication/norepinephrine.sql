-- Norepinephrine infusions.
-- Grain:  one row per input event (bolus, rewritten and duplicate rows stay).
-- Source: public concept MIT-LCP/mimic-code medication/norepinephrine.
-- Units:  vaso_rate mcg/kg/min, vaso_amount as charted.
SELECT
    stay_id,
    linkorderid,
    CASE
        -- charted in mg; a weight of 1 kg marks a rate that is in mcg already
        WHEN rateuom = 'mg/kg/min' AND patientweight = 1 THEN rate
        WHEN rateuom = 'mg/kg/min' THEN rate * 1000.0
        ELSE rate
    END AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
-- Norepinephrine
WHERE itemid = 221906
