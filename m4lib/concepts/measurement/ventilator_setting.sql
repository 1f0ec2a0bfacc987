-- Ventilator settings, measured values and modes.
-- Grain:  one row per subject_id and charttime; rows stay when all values are out of range.
-- Source: public concept MIT-LCP/mimic-code measurement/ventilator_setting.
-- Units:  rates /min, minute volume and flow L/min, tidal volumes mL, pressures cmH2O, fio2 %.
SELECT
    subject_id,
    MAX(stay_id) AS stay_id,
    charttime,
    MAX(CASE WHEN itemid = 224688 THEN valuenum END) AS respiratory_rate_set,         -- Respiratory Rate (Set)
    MAX(CASE WHEN itemid = 224690 THEN valuenum END) AS respiratory_rate_total,       -- Respiratory Rate (Total)
    MAX(CASE WHEN itemid = 224689 THEN valuenum END) AS respiratory_rate_spontaneous, -- Respiratory Rate (spontaneous)
    MAX(CASE WHEN itemid = 224687 THEN valuenum END) AS minute_volume,                -- Minute Volume
    MAX(CASE WHEN itemid = 224684 THEN valuenum END) AS tidal_volume_set,             -- Tidal Volume (set)
    MAX(CASE WHEN itemid = 224685 THEN valuenum END) AS tidal_volume_observed,        -- Tidal Volume (observed)
    MAX(CASE WHEN itemid = 224686 THEN valuenum END) AS tidal_volume_spontaneous,     -- Tidal Volume (spontaneous)
    MAX(CASE WHEN itemid = 224696 THEN valuenum END) AS plateau_pressure,             -- Plateau Pressure
    MAX(CASE WHEN itemid IN (220339, 224700) AND valuenum >= 0 AND valuenum <= 100 THEN valuenum END)
        AS peep,                                                                      -- PEEP set, Total PEEP Level
    MAX(CASE                                                                          -- Inspired O2 Fraction
        WHEN itemid = 223835 AND valuenum >= 0.20 AND valuenum <= 1 THEN valuenum * 100
        WHEN itemid = 223835 AND valuenum >= 20 AND valuenum <= 100 THEN valuenum
    END) AS fio2,
    MAX(CASE WHEN itemid = 224691 THEN valuenum END) AS flow_rate,                    -- Flow Rate (L/min)
    MAX(CASE WHEN itemid = 223849 THEN value END) AS ventilator_mode,                 -- Ventilator Mode
    MAX(CASE WHEN itemid = 229314 THEN value END) AS ventilator_mode_hamilton,        -- Ventilator Mode (Hamilton)
    MAX(CASE WHEN itemid = 223848 THEN value END) AS ventilator_type                  -- Ventilator Type
FROM mimiciv_icu.chartevents
WHERE value IS NOT NULL
    AND stay_id IS NOT NULL
    AND itemid IN (
        224688, 224690, 224689, 224687, 224684, 224685, 224686, 224696, 220339, 224700, 223835, 224691,
        223849, 229314, 223848
    )
GROUP BY subject_id, charttime
