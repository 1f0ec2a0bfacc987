-- White cell differential; absolute counts filled in from percentages where the laboratory gave none.
-- Grain:  one row per specimen_id with a result of zero or more (a white cell count alone is enough).
-- Source: public concept MIT-LCP/mimic-code measurement/blood_differential.
-- Units:  wbc and absolute counts K/uL, the rest %.
WITH specimen AS (
    SELECT
        MAX(subject_id) AS subject_id,
        MAX(hadm_id) AS hadm_id,
        MAX(charttime) AS charttime,
        specimen_id,
        MAX(CASE WHEN itemid IN (51300, 51301, 51755) THEN valuenum END) AS wbc,         -- WBC Count, White Blood Cells
        -- absolute counts; those reported per uL are divided by 1000
        MAX(CASE WHEN itemid = 52069 THEN valuenum END) AS basophils_abs,                -- Absolute Basophil Count
        MAX(CASE
            WHEN itemid = 52073 THEN valuenum                                            -- Absolute Eosinophil Count
            WHEN itemid = 51199 THEN valuenum / 1000.0                                   -- Eosinophil Count
        END) AS eosinophils_abs,
        MAX(CASE
            WHEN itemid = 51133 THEN valuenum                                            -- Absolute Lymphocyte Count
            WHEN itemid = 52769 THEN valuenum / 1000.0                                   -- Absolute Lymphocyte Count
        END) AS lymphocytes_abs,
        MAX(CASE
            WHEN itemid = 52074 THEN valuenum                                            -- Absolute Monocyte Count
            WHEN itemid = 51253 THEN valuenum / 1000.0                                   -- Monocyte Count
        END) AS monocytes_abs,
        MAX(CASE WHEN itemid = 52075 THEN valuenum END) AS neutrophils_abs,              -- Absolute Neutrophil Count
        -- percentages
        MAX(CASE WHEN itemid = 51146 THEN valuenum END) AS basophils,                    -- Basophils
        MAX(CASE WHEN itemid = 51200 THEN valuenum END) AS eosinophils,                  -- Eosinophils
        MAX(CASE WHEN itemid IN (51244, 51245) THEN valuenum END) AS lymphocytes,        -- Lymphocytes
        MAX(CASE WHEN itemid = 51254 THEN valuenum END) AS monocytes,                    -- Monocytes
        MAX(CASE WHEN itemid = 51256 THEN valuenum END) AS neutrophils,                  -- Neutrophils
        MAX(CASE WHEN itemid = 51143 THEN valuenum END) AS atypical_lymphocytes,         -- Atypical Lymphocytes
        MAX(CASE WHEN itemid = 51144 THEN valuenum END) AS bands,                        -- Bands
        MAX(CASE WHEN itemid = 52135 THEN valuenum END) AS immature_granulocytes,        -- Immature Granulocytes
        MAX(CASE WHEN itemid = 51251 THEN valuenum END) AS metamyelocytes,               -- Metamyelocytes
        MAX(CASE WHEN itemid = 51257 THEN valuenum END) AS nrbc,                         -- Nucleated Red Cells
        -- every term is zero or more, so the sum is positive when one of them is
        SUM(CASE WHEN itemid IN (51146, 51200, 51244, 51245, 51254, 51256) THEN valuenum END) AS differential
    FROM mimiciv_hosp.labevents
    WHERE itemid IN (
        51146, 52069, 51199, 51200, 52073, 51244, 51245, 51133, 52769, 51253, 51254, 52074, 51256, 52075,
        51143, 51144, 52135, 51251, 51257, 51300, 51301, 51755,
        51218 -- Granulocyte Count: not shown, but creates a row
    )
        AND valuenum >= 0
    GROUP BY specimen_id
),

-- absolute count = reported, else percentage of the white cells when both were measured
filled AS (
    SELECT
        * REPLACE (
            COALESCE(basophils_abs, CASE WHEN usable THEN basophils * wbc / 100 END) AS basophils_abs,
            COALESCE(eosinophils_abs, CASE WHEN usable THEN eosinophils * wbc / 100 END) AS eosinophils_abs,
            COALESCE(lymphocytes_abs, CASE WHEN usable THEN lymphocytes * wbc / 100 END) AS lymphocytes_abs,
            COALESCE(monocytes_abs, CASE WHEN usable THEN monocytes * wbc / 100 END) AS monocytes_abs,
            COALESCE(neutrophils_abs, CASE WHEN usable THEN neutrophils * wbc / 100 END) AS neutrophils_abs
        )
    FROM (SELECT *, wbc > 0 AND differential > 0 AS usable FROM specimen)
)

SELECT
    subject_id,
    hadm_id,
    charttime,
    specimen_id,
    wbc,
    TRY_CAST(basophils_abs AS DECIMAL(18, 3)) AS basophils_abs,
    TRY_CAST(eosinophils_abs AS DECIMAL(18, 3)) AS eosinophils_abs,
    TRY_CAST(lymphocytes_abs AS DECIMAL(18, 3)) AS lymphocytes_abs,
    TRY_CAST(monocytes_abs AS DECIMAL(18, 3)) AS monocytes_abs,
    TRY_CAST(neutrophils_abs AS DECIMAL(18, 3)) AS neutrophils_abs,
    basophils,
    eosinophils,
    lymphocytes,
    monocytes,
    neutrophils,
    atypical_lymphocytes,
    bands,
    immature_granulocytes,
    metamyelocytes,
    nrbc
FROM filled
