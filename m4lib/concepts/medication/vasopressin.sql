-- Vasopressin infusions.
-- Grain:  one row per input event (bolus, rewritten and duplicate rows stay).
-- Source: public concept MIT-LCP/mimic-code medication/vasopressin.
-- Units:  vaso_rate units/h, vaso_amount as charted.
SELECT
    stay_id,
    linkorderid,
    CASE WHEN rateuom = 'units/min' THEN rate * 60.0 ELSE rate END AS vaso_rate,
    amount AS vaso_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
-- Vasopressin
WHERE itemid = 222315
