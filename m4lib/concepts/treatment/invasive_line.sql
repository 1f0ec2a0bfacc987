-- Invasive lines with their type, site and time in place.
-- Grain:  one row per procedure event of a line; duplicates stay.
-- Source: public concept MIT-LCP/mimic-code treatment/invasive_line.
SELECT
    line.stay_id,
    CASE
        WHEN item.label IN ('Arterial Line', 'A-Line') THEN 'Arterial'
        WHEN item.label IN ('CCO PA Line', 'CCO PAC') THEN 'Continuous Cardiac Output PA'
        WHEN item.label IN ('Dialysis Catheter', 'Dialysis Line') THEN 'Dialysis'
        WHEN item.label IN ('Hickman', 'Tunneled (Hickman) Line') THEN 'Hickman'
        WHEN item.label IN ('IABP', 'IABP line') THEN 'IABP'
        WHEN item.label IN ('Multi Lumen', 'Multi-lumen') THEN 'Multi Lumen'
        WHEN item.label IN ('PA Catheter', 'PA line') THEN 'PA'
        WHEN item.label IN ('PICC Line', 'PICC line') THEN 'PICC'
        WHEN item.label IN ('Pre-Sep Catheter', 'Presep Catheter') THEN 'Pre-Sep'
        WHEN item.label IN ('Trauma Line', 'Trauma line') THEN 'Trauma'
        WHEN item.label IN ('Triple Introducer', 'TripleIntroducer') THEN 'Triple Introducer'
        WHEN item.label IN ('Portacath', 'Indwelling Port (PortaCath)') THEN 'Portacath'
        ELSE item.label
    END AS line_type,
    -- spellings that are not listed stay as they are
    CASE
        WHEN line.location IN ('Left Antecub', 'Left Antecube') THEN 'Left Antecube'
        WHEN line.location IN ('Left Axilla', 'Left Axilla.') THEN 'Left Axilla'
        WHEN line.location IN ('Left Brachial', 'Left Brachial.') THEN 'Left Brachial'
        WHEN line.location IN ('Left Femoral', 'Left Femoral.') THEN 'Left Femoral'
        WHEN line.location IN ('Right Antecub', 'Right Antecube') THEN 'Right Antecube'
        WHEN line.location IN ('Right Axilla', 'Right Axilla.') THEN 'Right Axilla'
        WHEN line.location IN ('Right Brachial', 'Right Brachial.') THEN 'Right Brachial'
        WHEN line.location IN ('Right Femoral', 'Right Femoral.') THEN 'Right Femoral'
        ELSE line.location
    END AS line_site,
    line.starttime,
    line.endtime
FROM mimiciv_icu.procedureevents AS line
INNER JOIN mimiciv_icu.d_items AS item
    ON line.itemid = item.itemid
WHERE line.itemid IN (
    227719, -- AVA
    225752, -- Arterial Line
    224269, -- CCO PAC
    224267, -- Cordis/Introducer
    224270, -- Dialysis Catheter
    224272, -- IABP line
    226124, -- ICP Catheter
    228169, -- Impella Line
    225202, -- Indwelling Port (PortaCath)
    228286, -- Intraosseous Device
    225204, -- Midline
    224263, -- Multi Lumen
    224560, -- PA Catheter
    224264, -- PICC Line
    225203, -- Pheresis Catheter
    224273, -- Presep Catheter
    225789, -- Sheath (Venous)
    225761, -- Sheath Insertion
    228201, -- Tandem Heart Inflow Line
    228202, -- Tandem Heart Outflow Line
    224268, -- Trauma line
    225199, -- Triple Introducer
    225315, -- Tunneled (Hickman) Line
    225205  -- RIC
)
ORDER BY stay_id NULLS FIRST, starttime NULLS FIRST, line_type NULLS FIRST, line_site NULLS FIRST
