-- Continuous renal replacement therapy: settings, pressures and state of the circuit.
-- Grain:  one row per stay_id and charttime with any of these items.
-- Source: public concept MIT-LCP/mimic-code treatment/crrt.
-- Units:  pressures mmHg, blood flow mL/min, fluid and citrate rates mL/h, goal, removal and ultrafiltrate mL,
--         heparin dose units/h; flags 1, 0 or empty.
SELECT
    stay_id,
    charttime,
    MAX(CASE WHEN itemid = 227290 THEN value END) AS crrt_mode,                       -- CRRT mode
    MAX(CASE WHEN itemid = 224149 THEN valuenum END) AS access_pressure,              -- Access Pressure
    MAX(CASE WHEN itemid = 224144 THEN valuenum END) AS blood_flow,                   -- Blood Flow (ml/min)
    MAX(CASE WHEN itemid = 228004 THEN valuenum END) AS citrate,                      -- Citrate (ACD-A)
    MAX(CASE WHEN itemid = 225183 THEN valuenum END) AS current_goal,                 -- Current Goal
    MAX(CASE WHEN itemid = 225977 THEN value END) AS dialysate_fluid,                 -- Dialysate Fluid
    MAX(CASE WHEN itemid = 224154 THEN valuenum END) AS dialysate_rate,               -- Dialysate Rate
    MAX(CASE WHEN itemid = 224151 THEN valuenum END) AS effluent_pressure,            -- Effluent Pressure
    MAX(CASE WHEN itemid = 224150 THEN valuenum END) AS filter_pressure,              -- Filter Pressure
    MAX(CASE WHEN itemid = 225958 THEN value END) AS heparin_concentration,           -- Heparin Concentration (units/mL)
    MAX(CASE WHEN itemid = 224145 THEN valuenum END) AS heparin_dose,                 -- Heparin Dose (per hour)
    MAX(CASE WHEN itemid = 224191 THEN valuenum END) AS hourly_patient_fluid_removal, -- Hourly Patient Fluid Removal
    MAX(CASE WHEN itemid = 228005 THEN valuenum END) AS prefilter_replacement_rate,   -- PBP (Prefilter) Replacement Rate
    MAX(CASE WHEN itemid = 228006 THEN valuenum END) AS postfilter_replacement_rate,  -- Post Filter Replacement Rate
    MAX(CASE WHEN itemid = 225976 THEN value END) AS replacement_fluid,               -- Replacement Fluid
    MAX(CASE WHEN itemid = 224153 THEN valuenum END) AS replacement_rate,             -- Replacement Rate
    MAX(CASE WHEN itemid = 224152 THEN valuenum END) AS return_pressure,              -- Return Pressure
    MAX(CASE WHEN itemid = 226457 THEN valuenum END) AS ultrafiltrate_output,         -- Ultrafiltrate Output
    -- System Integrity; several states can be charted at one time
    MAX(CASE
        WHEN itemid = 224146 AND value IN ('Active', 'Initiated', 'Reinitiated', 'New Filter') THEN 1
        WHEN itemid = 224146 AND value IN ('Recirculating', 'Discontinued') THEN 0
    END) AS system_active,
    MAX(CASE
        WHEN itemid = 224146 AND value = 'Clots Present' THEN 1
        WHEN itemid = 224146 AND value = 'No Clot Present' THEN 0
    END) AS clots,
    MAX(CASE WHEN itemid = 224146 AND value IN ('Clots Increasing', 'Clot Increasing') THEN 1 END) AS clots_increasing,
    MAX(CASE WHEN itemid = 224146 AND value = 'Clotted' THEN 1 END) AS clotted
FROM mimiciv_icu.chartevents
WHERE value IS NOT NULL
    AND itemid IN (
        227290, 224149, 224144, 228004, 225183, 225977, 224154, 224151, 224150, 225958, 224145, 224191, 228005, 228006,
        225976, 224153, 224152, 226457, 224146
    )
GROUP BY stay_id, charttime
