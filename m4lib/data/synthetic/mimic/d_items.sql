WITH everything AS (
    SELECT itemid, label, 'chartevents' AS linksto, 'Routine Vital Signs' AS category, unit AS unitname, 'Numeric' AS param_type FROM chart_numeric
    UNION ALL SELECT itemid, label, 'chartevents', 'General', NULL, 'Text' FROM chart_text
    UNION ALL SELECT itemid, label, 'inputevents', 'Medications', NULL, 'Solution' FROM infusions
    UNION ALL SELECT itemid, label, 'outputevents', 'Output', 'mL', 'Numeric' FROM outputs
    UNION ALL SELECT itemid, label, 'procedureevents', category, NULL, 'Processes' FROM procedures
    UNION ALL FROM (VALUES
        (220739, 'GCS - Eye Opening', 'chartevents', 'Neurological', NULL, 'Text'),
        (223900, 'GCS - Verbal Response', 'chartevents', 'Neurological', NULL, 'Text'),
        (223901, 'GCS - Motor Response', 'chartevents', 'Neurological', NULL, 'Text'),
        (226732, 'O2 Delivery Device(s)', 'chartevents', 'Respiratory', NULL, 'Text'),
        (223834, 'O2 Flow', 'chartevents', 'Respiratory', 'L/min', 'Numeric'),
        (227582, 'BiPap O2 Flow', 'chartevents', 'Respiratory', 'L/min', 'Numeric'),
        (227287, 'O2 Flow (additional cannula)', 'chartevents', 'Respiratory', 'L/min', 'Numeric'),
        (223849, 'Ventilator Mode', 'chartevents', 'Respiratory', NULL, 'Text'),
        (229314, 'Ventilator Mode (Hamilton)', 'chartevents', 'Respiratory', NULL, 'Text'),
        (226512, 'Admission Weight (Kg)', 'chartevents', 'General', 'kg', 'Numeric'),
        (226531, 'Admission Weight (lbs.)', 'chartevents', 'General', NULL, 'Numeric'),
        (224639, 'Daily Weight', 'chartevents', 'General', 'kg', 'Numeric'),
        (226707, 'Height', 'chartevents', 'General', 'Inch', 'Numeric'),
        (226730, 'Height (cm)', 'chartevents', 'General', 'cm', 'Numeric'),
        (227488, 'GU Irrigant Volume In', 'outputevents', 'Output', 'mL', 'Numeric'),
        (226579, 'Stool', 'outputevents', 'Output', 'mL', 'Numeric'),
        (226588, 'Chest Tube #1', 'outputevents', 'Output', 'mL', 'Numeric'),
        (224186, 'Insertion Date', 'datetimeevents', 'Access Lines', NULL, 'Date and time'),
        (225754, 'Dressing Change Date', 'datetimeevents', 'Access Lines', NULL, 'Date and time'),
        (220490, 'Water', 'ingredientevents', 'Ingredients - general', 'mL', 'Ingredient'),
        (226221, 'Sodium', 'ingredientevents', 'Ingredients - general', 'mEq', 'Ingredient')
    ) AS extra(itemid, label, linksto, category, unitname, param_type)
    UNION ALL SELECT 290000 + k, 'Synthetic observation ' || k, 'chartevents', 'General', NULL, CASE WHEN k % 2 = 0 THEN 'Text' ELSE 'Numeric' END
    FROM range(getvariable('other_items')) AS r(k)
)
SELECT itemid, label, label AS abbreviation, linksto, category, unitname, param_type, NULL AS lownormalvalue, NULL AS highnormalvalue
FROM everything ORDER BY itemid
