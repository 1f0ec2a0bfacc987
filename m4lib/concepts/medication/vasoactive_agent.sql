-- Rates of seven vasoactive drugs between any two neighbouring times at which one of them starts or ends.
-- Grain:  one row per interval of a stay and combination of the infusions that cover it (overlapping infusions of one
--         drug repeat the interval; an interval without any drug stays).
-- Source: public concept MIT-LCP/mimic-code medication/vasoactive_agent.
-- Units:  mcg/kg/min, vasopressin units/h.
WITH change AS (
    SELECT stay_id, starttime AS time FROM mimiciv_derived.dobutamine
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.dobutamine
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.dopamine
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.dopamine
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.epinephrine
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.epinephrine
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.norepinephrine
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.norepinephrine
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.phenylephrine
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.phenylephrine
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.vasopressin
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.vasopressin
    UNION
    SELECT stay_id, starttime FROM mimiciv_derived.milrinone
    UNION
    SELECT stay_id, endtime FROM mimiciv_derived.milrinone
),

between_changes AS (
    SELECT
        stay_id,
        time AS starttime,
        LEAD(time) OVER (PARTITION BY stay_id ORDER BY time NULLS FIRST) AS endtime
    FROM change
)

SELECT
    span.stay_id,
    span.starttime,
    span.endtime,
    dopamine.vaso_rate AS dopamine,
    epinephrine.vaso_rate AS epinephrine,
    norepinephrine.vaso_rate AS norepinephrine,
    phenylephrine.vaso_rate AS phenylephrine,
    vasopressin.vaso_rate AS vasopressin,
    dobutamine.vaso_rate AS dobutamine,
    milrinone.vaso_rate AS milrinone
FROM between_changes AS span
LEFT JOIN mimiciv_derived.dobutamine AS dobutamine
    ON span.stay_id = dobutamine.stay_id
    AND span.starttime >= dobutamine.starttime AND span.endtime <= dobutamine.endtime
LEFT JOIN mimiciv_derived.dopamine AS dopamine
    ON span.stay_id = dopamine.stay_id
    AND span.starttime >= dopamine.starttime AND span.endtime <= dopamine.endtime
LEFT JOIN mimiciv_derived.epinephrine AS epinephrine
    ON span.stay_id = epinephrine.stay_id
    AND span.starttime >= epinephrine.starttime AND span.endtime <= epinephrine.endtime
LEFT JOIN mimiciv_derived.norepinephrine AS norepinephrine
    ON span.stay_id = norepinephrine.stay_id
    AND span.starttime >= norepinephrine.starttime AND span.endtime <= norepinephrine.endtime
LEFT JOIN mimiciv_derived.phenylephrine AS phenylephrine
    ON span.stay_id = phenylephrine.stay_id
    AND span.starttime >= phenylephrine.starttime AND span.endtime <= phenylephrine.endtime
LEFT JOIN mimiciv_derived.vasopressin AS vasopressin
    ON span.stay_id = vasopressin.stay_id
    AND span.starttime >= vasopressin.starttime AND span.endtime <= vasopressin.endtime
LEFT JOIN mimiciv_derived.milrinone AS milrinone
    ON span.stay_id = milrinone.stay_id
    AND span.starttime >= milrinone.starttime AND span.endtime <= milrinone.endtime
WHERE span.endtime IS NOT NULL
