-- Phenylephrine infusions.
-- Grain:  one row per input event (bolus, rewritten and duplicate rows stay).
-- Source: public concept MIT-LCP/mimic-code medication/phenylephrine.
-- Units:  vaso_rate mcg/kg/min, vaso_amount as charted.
SELECT
    stay_id,
    linkorderid,
    CASE WHEN rateuom = 'mcg/min' THEN rate / patientweight ELSE rate END AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
-- Phenylephrine
WHERE itemid = 221749
