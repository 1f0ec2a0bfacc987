-- Blood gases with a pO2, of any specimen type, with the FiO2 charted before and oxygenation indices.
-- Grain:  one row per subject_id and charttime; of several specimens at one time the smallest specimen_id is kept whole.
-- Source: public concept MIT-LCP/mimic-code measurement/bg; alveolar gas equation with 760 mmHg, 47 mmHg water vapour
--         and a respiratory quotient of 0.8.
-- Units:  pressures mmHg, fractions and saturations %, electrolytes and base mEq/L, calcium and lactate mmol/L,
--         hemoglobin g/dL, glucose mg/dL, temperature degrees Celsius.
WITH specimen AS (
    SELECT
        specimen_id,
        MAX(subject_id) AS subject_id,
        MAX(hadm_id) AS hadm_id,
        MAX(charttime) AS charttime,
        MAX(CASE WHEN itemid = 52033 THEN value END) AS specimen,                             -- Specimen Type
        MAX(CASE WHEN itemid = 50801 THEN valuenum END) AS aado2,                             -- Alveolar-arterial Gradient
        MAX(CASE WHEN itemid = 50802 THEN valuenum END) AS baseexcess,                        -- Base Excess
        MAX(CASE WHEN itemid = 50803 THEN valuenum END) AS bicarbonate,                       -- Calculated Bicarbonate
        MAX(CASE WHEN itemid = 50804 THEN valuenum END) AS totalco2,                          -- Calculated Total CO2
        MAX(CASE WHEN itemid = 50805 THEN valuenum END) AS carboxyhemoglobin,                 -- Carboxyhemoglobin
        MAX(CASE WHEN itemid = 50806 THEN valuenum END) AS chloride,                          -- Chloride, Whole Blood
        MAX(CASE WHEN itemid = 50808 THEN valuenum END) AS calcium,                           -- Free Calcium
        MAX(CASE WHEN itemid = 50809 AND valuenum <= 10000 THEN valuenum END) AS glucose,     -- Glucose
        MAX(CASE WHEN itemid = 50810 AND valuenum <= 100 THEN valuenum END) AS hematocrit,    -- Hematocrit, Calculated
        MAX(CASE WHEN itemid = 50811 THEN valuenum END) AS hemoglobin,                        -- Hemoglobin
        MAX(CASE WHEN itemid = 50813 AND valuenum <= 10000 THEN valuenum END) AS lactate,     -- Lactate
        MAX(CASE WHEN itemid = 50814 THEN valuenum END) AS methemoglobin,                     -- Methemoglobin
        MAX(CASE                                                                              -- Oxygen (FiO2)
            WHEN itemid = 50816 AND valuenum > 20 AND valuenum <= 100 THEN valuenum
            WHEN itemid = 50816 AND valuenum > 0.2 AND valuenum <= 1.0 THEN valuenum * 100.0
        END) AS fio2,
        MAX(CASE WHEN itemid = 50817 AND valuenum <= 100 THEN valuenum END) AS so2,           -- Oxygen Saturation
        MAX(CASE WHEN itemid = 50818 THEN valuenum END) AS pco2,                              -- pCO2
        MAX(CASE WHEN itemid = 50820 THEN valuenum END) AS ph,                                -- pH
        MAX(CASE WHEN itemid = 50821 THEN valuenum END) AS po2,                               -- pO2
        MAX(CASE WHEN itemid = 50822 THEN valuenum END) AS potassium,                         -- Potassium, Whole Blood
        MAX(CASE WHEN itemid = 50824 THEN valuenum END) AS sodium,                            -- Sodium, Whole Blood
        MAX(CASE WHEN itemid = 50825 THEN valuenum END) AS temperature                        -- Temperature
    FROM mimiciv_hosp.labevents
    WHERE itemid IN (
        52033, 50801, 50802, 50803, 50804, 50805, 50806, 50808, 50809, 50810, 50811, 50813, 50814, 50816, 50817,
        50818, 50820, 50821, 50822, 50824, 50825,
        -- not shown, but their rows share in the time of the specimen
        50807, -- Comments
        50815, -- O2 Flow
        50819, -- PEEP
        50823  -- Required O2
    )
    GROUP BY specimen_id
),

gas AS (
    SELECT *
    FROM specimen
    WHERE po2 IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY subject_id, charttime ORDER BY specimen_id) = 1
),

-- Inspired O2 Fraction from the bedside, as a percentage
charted_fio2 AS (
    SELECT
        subject_id,
        charttime,
        MAX(CASE
            WHEN valuenum > 0.2 AND valuenum <= 1 THEN valuenum * 100
            WHEN valuenum >= 20 AND valuenum <= 100 THEN valuenum
        END) AS fio2_chartevents
    FROM mimiciv_icu.chartevents
    WHERE itemid = 223835 AND valuenum > 0 AND valuenum <= 100
    GROUP BY subject_id, charttime
    HAVING fio2_chartevents > 0
),

-- the latest charted FiO2 of the same patient at or before the gas, at most 4 hours old
gas_with_fio2 AS (
    SELECT
        gas.*,
        CASE WHEN charted.charttime >= gas.charttime - INTERVAL 4 HOUR THEN charted.fio2_chartevents END
            AS fio2_chartevents
    FROM gas
    ASOF LEFT JOIN charted_fio2 AS charted
        ON gas.subject_id = charted.subject_id
        AND gas.charttime >= charted.charttime
)

SELECT
    subject_id,
    hadm_id,
    charttime,
    specimen,
    so2,
    po2,
    pco2,
    fio2_chartevents,
    fio2,
    aado2,
    COALESCE(fio2, fio2_chartevents) / 100 * (760 - 47) - pco2 / 0.8 - po2 AS aado2_calc,
    100 * po2 / COALESCE(fio2, fio2_chartevents) AS pao2fio2ratio,
    ph,
    baseexcess,
    bicarbonate,
    totalco2,
    hematocrit,
    hemoglobin,
    carboxyhemoglobin,
    methemoglobin,
    chloride,
    calcium,
    temperature,
    potassium,
    sodium,
    lactate,
    glucose
FROM gas_with_fio2
