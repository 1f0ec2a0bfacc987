-- OASIS of the first ICU day on eICU: ten components without any laboratory value, and their sum.
-- Grain: one row per unit stay. A component without data scores 0.
-- Window: more than 0 and at most 1440 minutes after unit admission.
-- Units: pressures mmHg, temperature deg C, urine mL, age in whole years, offsets in minutes.
-- Charted text counts when it reads as a number (3 decimals kept). Bounds are literal: a value between two lines of a
-- component (heart rate 88.5, temperature 35.935) fails both and goes on to the next line.
-- APACHE summary tables stand in for urine, intubation and elective surgery where charting has no counterpart.
-- Source: Johnson AEW et al., Crit Care Med 2013;41:1711-1718, with labels as in the public eICU concepts.
WITH charted AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        nursingchartcelltypecat AS category,
        CASE
            WHEN nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'GCS Total' THEN 'coma'
            WHEN nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value' THEN 'coma'
            WHEN nursingchartcelltypevallabel = 'Heart Rate'
                AND nursingchartcelltypevalname = 'Heart Rate' THEN 'heart rate'
            WHEN nursingchartcelltypevallabel = 'Respiratory Rate'
                AND nursingchartcelltypevalname = 'Respiratory Rate' THEN 'breathing'
            WHEN nursingchartcelltypevallabel = 'Temperature'
                AND nursingchartcelltypevalname = 'Temperature (C)' THEN 'temperature'
            WHEN nursingchartcelltypevallabel = 'Invasive BP'
                AND nursingchartcelltypevalname = 'Invasive BP Mean' THEN 'invasive pressure'
            WHEN nursingchartcelltypevallabel = 'MAP (mmHg)'
                AND nursingchartcelltypevalname = 'Value' THEN 'invasive pressure'
            WHEN nursingchartcelltypevallabel = 'Arterial Line MAP (mmHg)'
                AND nursingchartcelltypevalname = 'Value' THEN 'invasive pressure'
            WHEN nursingchartcelltypevallabel = 'Non-Invasive BP'
                AND nursingchartcelltypevalname = 'Non-Invasive BP Mean' THEN 'cuff pressure'
        END AS variable,
        TRY_CAST(nursingchartvalue AS DECIMAL(18, 3)) AS charted_value
    FROM eicu_crd.nursecharting
    WHERE nursingchartcelltypecat IN ('Vital Signs', 'Scores', 'Other Vital Signs and Infusions')
        AND nursingchartoffset > 0
        AND nursingchartoffset <= 1440
),

vital AS (
    SELECT
        patientunitstayid,
        MIN(CASE WHEN variable = 'heart rate' AND charted_value BETWEEN 25 AND 225 THEN charted_value END) AS heart_rate_min,
        MAX(CASE WHEN variable = 'heart rate' AND charted_value BETWEEN 25 AND 225 THEN charted_value END) AS heart_rate_max,
        -- a breathing rate of 0 counts for the maximum only
        MIN(CASE WHEN variable = 'breathing' AND charted_value > 0 AND charted_value <= 60 THEN charted_value END) AS breathing_min,
        MAX(CASE WHEN variable = 'breathing' AND charted_value BETWEEN 0 AND 60 THEN charted_value END) AS breathing_max,
        MIN(CASE WHEN variable = 'temperature' AND charted_value BETWEEN 25 AND 46 THEN charted_value END) AS temperature_min,
        MAX(CASE WHEN variable = 'temperature' AND charted_value BETWEEN 25 AND 46 THEN charted_value END) AS temperature_max,
        MIN(CASE WHEN variable = 'invasive pressure' AND charted_value BETWEEN 1 AND 250 THEN charted_value END) AS invasive_min,
        MAX(CASE WHEN variable = 'invasive pressure' AND charted_value BETWEEN 1 AND 250 THEN charted_value END) AS invasive_max,
        MIN(CASE WHEN variable = 'cuff pressure' AND charted_value BETWEEN 1 AND 250 THEN charted_value END) AS cuff_min,
        MAX(CASE WHEN variable = 'cuff pressure' AND charted_value BETWEEN 1 AND 250 THEN charted_value END) AS cuff_max
    FROM charted
    GROUP BY patientunitstayid
),

-- the range test comes after the minimum: an impossible total hides a possible one at the same time
charted_coma AS (
    SELECT patientunitstayid, nursingchartoffset, MIN(charted_value) AS total
    FROM charted
    WHERE variable = 'coma' AND category IN ('Scores', 'Other Vital Signs and Infusions')
    GROUP BY patientunitstayid, nursingchartoffset
),

coma_by_nurse AS (
    SELECT patientunitstayid, MIN(total) AS total
    FROM charted_coma
    WHERE total > 2 AND total < 16
    GROUP BY patientunitstayid
),

coma_by_physician AS (
    SELECT patientunitstayid, MIN(TRY_CAST(physicalexamvalue AS DECIMAL(18, 3))) AS total
    FROM eicu_crd.physicalexam
    WHERE physicalexamoffset > 0
        AND physicalexamoffset <= 1440
        -- the total itself: one or two characters after the last slash
        AND (
            physicalexampath LIKE 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/_'
            OR physicalexampath LIKE 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/__'
        )
    GROUP BY patientunitstayid
),

output AS (
    SELECT
        patientunitstayid,
        intakeoutputoffset,
        intakeoutputid,
        cellpath,
        SUBSTR(cellpath, LENGTH('flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|') + 1) AS label,
        cellvaluenumeric
    FROM eicu_crd.intakeoutput
    WHERE cellpath LIKE 'flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|%'
        AND intakeoutputoffset > 0
        AND intakeoutputoffset <= 1440
        AND cellvaluenumeric IS NOT NULL
),

charted_urine AS (
    SELECT
        patientunitstayid,
        SUM(cellvaluenumeric ORDER BY intakeoutputoffset, intakeoutputid) AS urine
    FROM output
    WHERE label LIKE 'Urine Output (mL)%'
        OR label LIKE 'Urinary Catheter Output%'
        OR label LIKE 'Output%Urinary Catheter%'
        OR label LIKE 'Output%Urethral Catheter%'
        OR label LIKE 'Output%External Urethral%'
        OR (
            LOWER(label) LIKE 'foley%'
            AND LOWER(cellpath) NOT LIKE '%pacu%'
            AND LOWER(cellpath) NOT LIKE '%or%'
            AND LOWER(cellpath) NOT LIKE '%ir%'
        )
        OR label IN (
                '3 Way Foley', '3 way foley', 'Actual Urine', 'Adjusted total UO NOC end shift', 'BRP (Urine)',
                'BRP (urine)', 'CONDOM CATHETER OUTPUT', 'Condom Cath', 'Condom Catheter', 'INCONTINENT OF URINE',
                'Inc Urine', 'Inc. urine', 'Incont. Urine', 'Incont. urine', 'Incontient Urine', 'Incontient urine',
                'Incontinence-urine', 'Incontinent (urine)', 'Incontinent UOP', 'Incontinent Urine',
                'Indwelling Foley', 'Intermittent/Straight Cath (mL)', 'Straight  Cath', 'Straight  cath',
                'Straight Cath', 'Straight Cath Q6hrs', 'Straight Cath UOP', 'Straight Cath Urine',
                'Straight Cath''d', 'Straight Cathed', 'Straight Catheter Output', 'Straight Catheter-Foley',
                'Straight Catheter-Straight Catheter', 'Straight Catheterization Urine', 'Straight cath',
                'Straight cath ml''s', 'Straight catheterization', 'Straight caths', 'Suprapubic Urine Output',
                'True Urine', 'True Urine out', 'URINE', 'URINE CATHETER', 'Unmeasured Urine', 'Urethal Catheter',
                'Urethral Catheter', 'Urine', 'Urine (measured)', 'Urine Output-FOLEY', 'Urine Output-FOLEY CATH',
                'Urine Output-FOLEY CATHETER', 'Urine Output-Foley', 'Urine Output-Foley Catheter',
                'Urine Output-Foley Output', 'Urine Output-Foley cath', 'Urine Output-Fpley',
                'Urine Output-Ileoconduit', 'Urine Output-L Nephrostomy', 'Urine Output-L Nephrostomy Tube',
                'Urine Output-LEFT PCN TUBE', 'Urine Output-Left Nephrostomy', 'Urine Output-Left Nephrostomy Tube',
                'Urine Output-Nephrostomy', 'Urine Output-R Nephrostomy', 'Urine Output-R Nephrostomy Tube',
                'Urine Output-R nephrostomy', 'Urine Output-R. Nephrostomy',
                'Urine Output-RIGHT Nephrouretero Stent Urine Output', 'Urine Output-Rt Nephrectomy',
                'Urine Output-Texas Cath', 'Urine Output-Urine', 'Urine Output-Urine Output',
                'Urine Output-external catheter', 'Urine Output-foley', 'Urine Output-foley catheter',
                'Urine Output-left nephrostomy', 'Urine Output-right nephrostomy', 'Urine Output-stent',
                'Urine Output-straight cath', 'Urine Output-suprapubic', 'Urine Straight Cath',
                'Urine foley catheter', 'Urine via condom catheter', 'Urine, L neph:', 'Urine, R neph:',
                'Urine, void:', 'Urine- Foley', 'Urine- foley', 'Urine- void', 'Urine-foley', 'Urine-straight cath',
                'condom cath', 'condom catheter', 'condome cath urine', 'diaper urine', 'inc of urine', 'inc urine',
                'inc. urine', 'incont of urine', 'incont urine', 'incont. of urine', 'incont. of urine count',
                'incont. urine', 'incontient urine', 'incontinence of urine', 'incontinence/ voids urine',
                'incontinent of urine', 'incontinent urine', 'incontinent urine counts', 'indwelling foley',
                'straight cath', 'straight cath daily', 'straight cath ml''s', 'straight cath urine',
                'straight cathed', 'straightcath', 'strait cath Urine', 'true urine', 'unmeasured urine',
                'unmeasured urine output', 'urinary output 7AM - 7 PM', 'urinary output 7AM-7PM', 'urine',
                'urine (void)', 'urine output'
        )
    GROUP BY patientunitstayid
),

intubated AS (
    SELECT patientunitstayid FROM eicu_crd.apacheapsvar WHERE intubated = 1
    UNION
    SELECT patientunitstayid FROM eicu_crd.apachepredvar WHERE oobintubday1 = 1
    UNION
    SELECT patientunitstayid
    FROM eicu_crd.respiratorycare
    WHERE respcarestatusoffset > 0
        AND respcarestatusoffset <= 1440
        AND (
            airwaytype IS NOT NULL
            OR airwaysize IS NOT NULL
            OR airwayposition IS NOT NULL
            OR cuffpressure IS NOT NULL
            OR setapneatv IS NOT NULL
        )
),

stay AS (
    SELECT
        patient.patientunitstayid,
        patient.uniquepid,
        patient.patienthealthsystemstayid,
        patient.hospitaladmitoffset,
        CASE WHEN patient.age = '> 89' THEN 91 ELSE TRY_CAST(patient.age AS INTEGER) END AS age,
        patient.unitadmitsource,
        apache_prediction.electivesurgery,
        COALESCE(coma_by_nurse.total, coma_by_physician.total) AS coma,
        COALESCE(charted_urine.urine, CASE WHEN apache_day.urine > 0 THEN apache_day.urine END) AS urine,
        intubated.patientunitstayid AS intubated
    FROM eicu_crd.patient AS patient
    LEFT JOIN coma_by_nurse ON coma_by_nurse.patientunitstayid = patient.patientunitstayid
    LEFT JOIN coma_by_physician ON coma_by_physician.patientunitstayid = patient.patientunitstayid
    LEFT JOIN charted_urine ON charted_urine.patientunitstayid = patient.patientunitstayid
    LEFT JOIN eicu_crd.apacheapsvar AS apache_day ON apache_day.patientunitstayid = patient.patientunitstayid
    LEFT JOIN eicu_crd.apachepredvar AS apache_prediction
        ON apache_prediction.patientunitstayid = patient.patientunitstayid
    LEFT JOIN intubated ON intubated.patientunitstayid = patient.patientunitstayid
),

-- the first line that holds gives the points
scored AS (
    SELECT
        stay.patientunitstayid,
        stay.uniquepid,
        stay.patienthealthsystemstayid,
        CASE
            WHEN stay.hospitaladmitoffset > -10.2 THEN 5
            WHEN stay.hospitaladmitoffset BETWEEN -296.4 AND -10.2 THEN 3
            WHEN stay.hospitaladmitoffset BETWEEN -1440 AND -296.4 THEN 0
            WHEN stay.hospitaladmitoffset BETWEEN -18708 AND -1440 THEN 2
            WHEN stay.hospitaladmitoffset < -18708 THEN 1
            ELSE 0
        END AS preiculos_score,
        CASE
            WHEN stay.age < 24 THEN 0
            WHEN stay.age BETWEEN 24 AND 53 THEN 3
            WHEN stay.age BETWEEN 54 AND 77 THEN 6
            WHEN stay.age BETWEEN 78 AND 89 THEN 9
            WHEN stay.age > 89 THEN 7
            ELSE 0
        END AS age_score,
        CASE
            WHEN stay.coma < 8 THEN 10
            WHEN stay.coma BETWEEN 8 AND 13 THEN 4
            WHEN stay.coma = 14 THEN 3
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN vital.heart_rate_min < 33 THEN 4
            WHEN vital.heart_rate_max BETWEEN 33 AND 88 THEN 0
            WHEN vital.heart_rate_max BETWEEN 89 AND 106 THEN 1
            WHEN vital.heart_rate_max BETWEEN 107 AND 125 THEN 3
            WHEN vital.heart_rate_max > 125 THEN 6
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN vital.invasive_min < 20.65 THEN 4
            WHEN vital.invasive_min BETWEEN 20.65 AND 50.99 THEN 3
            WHEN vital.invasive_min BETWEEN 51 AND 61.32 THEN 2
            WHEN vital.invasive_min BETWEEN 61.33 AND 143.44 THEN 0
            WHEN vital.invasive_max > 143.44 THEN 3
            WHEN vital.cuff_min < 20.65 THEN 4
            WHEN vital.cuff_min BETWEEN 20.65 AND 50.99 THEN 3
            WHEN vital.cuff_min BETWEEN 51 AND 61.32 THEN 2
            WHEN vital.cuff_min BETWEEN 61.33 AND 143.44 THEN 0
            WHEN vital.cuff_max > 143.44 THEN 3
            ELSE 0
        END AS mbp_score,
        CASE
            WHEN vital.breathing_min < 6 THEN 10
            WHEN vital.breathing_min BETWEEN 6 AND 12 THEN 1
            WHEN vital.breathing_min BETWEEN 13 AND 22 THEN 0
            WHEN vital.breathing_max BETWEEN 23 AND 30 THEN 1
            WHEN vital.breathing_max BETWEEN 31 AND 44 THEN 6
            WHEN vital.breathing_max > 44 THEN 9
            ELSE 0
        END AS resp_rate_score,
        CASE
            WHEN vital.temperature_min < 33.22 THEN 3
            WHEN vital.temperature_min BETWEEN 33.22 AND 35.93 THEN 4
            WHEN vital.temperature_max BETWEEN 33.22 AND 35.93 THEN 4
            WHEN vital.temperature_min BETWEEN 35.94 AND 36.39 THEN 2
            WHEN vital.temperature_max BETWEEN 36.40 AND 36.88 THEN 0
            WHEN vital.temperature_max BETWEEN 36.89 AND 39.88 THEN 2
            WHEN vital.temperature_max > 39.88 THEN 6
            ELSE 0
        END AS temp_score,
        CASE
            WHEN stay.urine < 671 THEN 10
            WHEN stay.urine BETWEEN 671 AND 1426.99 THEN 5
            WHEN stay.urine BETWEEN 1427 AND 2543.99 THEN 1
            WHEN stay.urine BETWEEN 2544 AND 6896 THEN 0
            WHEN stay.urine > 6896 THEN 8
            ELSE 0
        END AS urineoutput_score,
        CASE WHEN stay.intubated IS NOT NULL THEN 9 ELSE 0 END AS mechvent_score,
        CASE
            WHEN stay.electivesurgery = 0 THEN 6
            WHEN stay.electivesurgery IS NULL THEN 6
            WHEN stay.unitadmitsource = 'Emergency Department' THEN 6
            ELSE 0
        END AS electivesurgery_score
    FROM stay
    LEFT JOIN vital ON vital.patientunitstayid = stay.patientunitstayid
)

SELECT
    patientunitstayid,
    uniquepid,
    patienthealthsystemstayid,
    preiculos_score + age_score + gcs_score + heart_rate_score + mbp_score
    + resp_rate_score + temp_score + urineoutput_score + mechvent_score + electivesurgery_score AS oasis,
    preiculos_score,
    age_score,
    gcs_score,
    heart_rate_score,
    mbp_score,
    resp_rate_score,
    temp_score,
    urineoutput_score,
    mechvent_score,
    electivesurgery_score
FROM scored
