-- first_day_bg: lowest and highest blood-gas values of the first ICU day, any kind of specimen.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where nothing was measured).
-- Window: intime - 6 h to intime + 24 h, both ends included; not cut at outtime.
-- Link:   by patient, so gases drawn before the admission or without an admission id count.
-- Source: MIMIC-IV derived concept `first_day_bg` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  as in `bg`; given beside each pair of columns.
SELECT
    ie.subject_id,
    ie.stay_id,
    MIN(bg.lactate) AS lactate_min,  -- mmol/L
    MAX(bg.lactate) AS lactate_max,
    MIN(bg.ph) AS ph_min,
    MAX(bg.ph) AS ph_max,
    MIN(bg.so2) AS so2_min,  -- %
    MAX(bg.so2) AS so2_max,
    MIN(bg.po2) AS po2_min,  -- mmHg
    MAX(bg.po2) AS po2_max,
    MIN(bg.pco2) AS pco2_min,  -- mmHg
    MAX(bg.pco2) AS pco2_max,
    MIN(bg.aado2) AS aado2_min,  -- mmHg, as reported by the analyser
    MAX(bg.aado2) AS aado2_max,
    MIN(bg.aado2_calc) AS aado2_calc_min,  -- mmHg, from the alveolar gas equation
    MAX(bg.aado2_calc) AS aado2_calc_max,
    MIN(bg.pao2fio2ratio) AS pao2fio2ratio_min,  -- mmHg
    MAX(bg.pao2fio2ratio) AS pao2fio2ratio_max,
    MIN(bg.baseexcess) AS baseexcess_min,  -- mEq/L
    MAX(bg.baseexcess) AS baseexcess_max,
    MIN(bg.bicarbonate) AS bicarbonate_min,  -- mEq/L
    MAX(bg.bicarbonate) AS bicarbonate_max,
    MIN(bg.totalco2) AS totalco2_min,  -- mEq/L
    MAX(bg.totalco2) AS totalco2_max,
    MIN(bg.hematocrit) AS hematocrit_min,  -- %
    MAX(bg.hematocrit) AS hematocrit_max,
    MIN(bg.hemoglobin) AS hemoglobin_min,  -- g/dL
    MAX(bg.hemoglobin) AS hemoglobin_max,
    MIN(bg.carboxyhemoglobin) AS carboxyhemoglobin_min,  -- %
    MAX(bg.carboxyhemoglobin) AS carboxyhemoglobin_max,
    MIN(bg.methemoglobin) AS methemoglobin_min,  -- %
    MAX(bg.methemoglobin) AS methemoglobin_max,
    MIN(bg.temperature) AS temperature_min,  -- °C
    MAX(bg.temperature) AS temperature_max,
    MIN(bg.chloride) AS chloride_min,  -- mEq/L
    MAX(bg.chloride) AS chloride_max,
    MIN(bg.calcium) AS calcium_min,  -- mmol/L, ionised
    MAX(bg.calcium) AS calcium_max,
    MIN(bg.glucose) AS glucose_min,  -- mg/dL
    MAX(bg.glucose) AS glucose_max,
    MIN(bg.potassium) AS potassium_min,  -- mEq/L
    MAX(bg.potassium) AS potassium_max,
    MIN(bg.sodium) AS sodium_min,  -- mEq/L
    MAX(bg.sodium) AS sodium_max
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.bg AS bg
    ON ie.subject_id = bg.subject_id
    AND bg.charttime >= ie.intime - INTERVAL '6' HOUR
    AND bg.charttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
