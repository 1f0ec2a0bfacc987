-- Evidence of renal replacement therapy of any kind: present, active, and its type.
-- Grain:  one row per distinct piece of evidence (stay_id, charttime, active, type) and range of treatment that covers
--         its time (one row when none does); readers aggregate.
-- Source: public concept MIT-LCP/mimic-code treatment/rrt.
-- Units:  flags 1 or 0. Types: IHD, Peritoneal, CRRT, CVVH, CVVHD, CVVHDF, SCUF and other charted modes.
WITH charted AS (
    SELECT
        stay_id,
        charttime,
        1 AS dialysis_present,
        CASE
            WHEN itemid IN (
                226499, -- Hemodialysis Output
                224154, -- Dialysate Rate
                225183, -- Current Goal
                227438, -- Volume not removed
                224191, -- Hourly Patient Fluid Removal
                225806, -- Volume In (PD)
                225807, -- Volume Out (PD)
                228004, -- Citrate (ACD-A)
                228005, -- PBP (Prefilter) Replacement Rate
                228006, -- Post Filter Replacement Rate
                224144, -- Blood Flow (ml/min)
                224145, -- Heparin Dose (per hour)
                224153, -- Replacement Rate
                226457  -- Ultrafiltrate Output
            ) THEN 1
            WHEN itemid = 225965 AND value = 'In use' THEN 1 -- Peritoneal Dialysis Catheter Status
            ELSE 0
        END AS dialysis_active,
        CASE
            WHEN itemid = 227290 THEN value -- CRRT mode
            WHEN itemid = 226499 THEN 'IHD' -- Hemodialysis Output
            WHEN itemid IN (
                225810, -- Dwell Time (Peritoneal Dialysis)
                225806, -- Volume In (PD)
                225807, -- Volume Out (PD)
                225951, -- Peritoneal Dialysis Fluid Appearance
                225952, -- Medication Added #1 (PD)
                225959, -- Medication Added Amount #1 (PD)
                225961, -- Medication Added Units #1 (PD)
                227638, -- Medication Added #2 (PD)
                227639, -- Medication Added Amount #2 (PD)
                227640, -- Medication Added Units #2 (PD)
                225953, -- Solution (PD)
                225963, -- Peritoneal Dialysis Catheter Type
                225965  -- Peritoneal Dialysis Catheter Status
            ) THEN 'Peritoneal'
        END AS dialysis_type
    FROM mimiciv_icu.chartevents
    WHERE value IS NOT NULL
        AND itemid IN (
            -- named above
            226499, 224154, 225183, 227438, 224191, 225806, 225807, 228004, 228005, 228006, 224144, 224145, 224153,
            226457, 225965, 227290, 225810, 225951, 225952, 225959, 225961, 227638, 227639, 227640, 225953, 225963,
            -- neither active nor of a known type
            226118, -- Dialysis Catheter placed in outside facility
            227357, -- Dialysis Catheter Dressing Occlusive
            225725, -- Dialysis Catheter Tip Cultured
            224149, -- Access Pressure
            224150, -- Filter Pressure
            224151, -- Effluent Pressure
            224152, -- Return Pressure
            224404, -- ART Lumen Volume
            224406, -- VEN Lumen Volume
            224135, -- Dialysis Access Site
            224139, -- Dialysis Site Appearance
            224146, -- System Integrity
            225323, -- Dialysis Catheter Site Appear
            225740, -- Dialysis Catheter Discontinued
            225776, -- Dialysis Catheter Dressing Type
            225954, -- Dialysis Access Type
            225956, -- Reason for CRRT Filter Change
            225958, -- Heparin Concentration (units/mL)
            225976, -- Replacement Fluid
            225977, -- Dialysate Fluid
            227124, -- Dialysis Catheter Type
            227753  -- Dialysis Catheter Placement Confirmed by X-ray
        )
),

treatment_range AS (
    SELECT
        stay_id,
        starttime,
        endtime,
        1 AS dialysis_present,
        1 AS dialysis_active,
        'CRRT' AS dialysis_type
    FROM mimiciv_icu.inputevents
    WHERE amount > 0
        AND itemid IN (
            227536, -- KCl (CRRT)
            227525  -- Calcium Gluconate (CRRT)
        )
    UNION
    SELECT
        stay_id,
        starttime,
        endtime,
        1 AS dialysis_present,
        CASE WHEN itemid IN (224270, 225436) THEN 0 ELSE 1 END AS dialysis_active,
        CASE itemid
            WHEN 225441 THEN 'IHD'        -- Hemodialysis
            WHEN 225802 THEN 'CRRT'       -- Dialysis - CRRT
            WHEN 225803 THEN 'CVVHD'      -- Dialysis - CVVHD
            WHEN 225805 THEN 'Peritoneal' -- Peritoneal Dialysis
            WHEN 225809 THEN 'CVVHDF'     -- Dialysis - CVVHDF
            WHEN 225955 THEN 'SCUF'       -- Dialysis - SCUF
        END AS dialysis_type
    FROM mimiciv_icu.procedureevents
    WHERE value IS NOT NULL
        AND itemid IN (
            225441, 225802, 225803, 225805, 225809, 225955,
            224270, -- Dialysis Catheter
            225436  -- CRRT Filter Change
        )
),

-- the start of a range is evidence of its own
evidence AS (
    SELECT stay_id, charttime, dialysis_present, dialysis_active, dialysis_type FROM charted
    UNION
    SELECT stay_id, starttime, dialysis_present, dialysis_active, dialysis_type FROM treatment_range
)

SELECT
    evidence.stay_id,
    evidence.charttime,
    -- what is known of the range goes before what was charted
    COALESCE(treatment_range.dialysis_present, evidence.dialysis_present) AS dialysis_present,
    COALESCE(treatment_range.dialysis_active, evidence.dialysis_active) AS dialysis_active,
    COALESCE(treatment_range.dialysis_type, evidence.dialysis_type) AS dialysis_type
FROM evidence
LEFT JOIN treatment_range
    ON evidence.stay_id = treatment_range.stay_id
    AND evidence.charttime >= treatment_range.starttime
    AND evidence.charttime <= treatment_range.endtime
