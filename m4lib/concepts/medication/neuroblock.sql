-- Infusions of neuromuscular blockers.
-- Grain:  one row per input event with a rate.
-- Source: public concept MIT-LCP/mimic-code medication/neuroblock.
-- Units:  as charted; the drug is not told apart.
SELECT
    stay_id,
    orderid,
    rate AS drug_rate,
    amount AS drug_amount,
    starttime,
    endtime
FROM mimiciv_icu.inputevents
WHERE itemid IN (
    222062, -- Vecuronium
    221555  -- Cisatracurium
)
    AND rate IS NOT NULL
