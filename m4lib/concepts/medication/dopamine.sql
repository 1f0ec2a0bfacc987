-- Dopamine infusions.
-- Grain:  one row per input event (bolus, rewritten and duplicate rows stay).
-- Source: public concept MIT-LCP/mimic-code medication/dopamine.
-- Units:  vaso_rate mcg/kg/min, vaso_amount as charted.
SELECT
    stay_id,
    linkorderid,
    rate AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
-- Dopamine
WHERE itemid = 221662
