-- Lowest Glasgow Coma Scale of the first ICU day on eICU, with the components charted at that minimum.
-- Grain: one row per unit stay. Without any reading: total 15, motor 6, verbal 5, eyes 4.
-- Window: 360 minutes before to 1440 minutes after unit admission, both ends included.
-- Convention: a charted total of 3 to 15 counts before the sum of components; no intubation rule, no carry-forward.
-- Source: Teasdale G, Jennett B, Lancet 1974;2:81-84; labels as in the public eICU concept.
WITH charted AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        CASE
            WHEN nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'GCS Total' THEN 'total'
            WHEN nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'
                AND nursingchartcelltypevalname = 'Value' THEN 'total'
            WHEN nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'Motor' THEN 'motor'
            WHEN nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'Verbal' THEN 'verbal'
            WHEN nursingchartcelltypevallabel = 'Glasgow coma score'
                AND nursingchartcelltypevalname = 'Eyes' THEN 'eyes'
        END AS part,
        TRY_CAST(nursingchartvalue AS DECIMAL(18, 3)) AS points
    FROM eicu_crd.nursecharting
    WHERE nursingchartcelltypecat IN ('Scores', 'Other Vital Signs and Infusions')
        AND nursingchartoffset BETWEEN -360 AND 1440
),

at_offset AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        MIN(CASE WHEN part = 'total' THEN points END) AS total,
        MIN(CASE WHEN part = 'motor' THEN points END) AS motor,
        MIN(CASE WHEN part = 'verbal' THEN points END) AS verbal,
        MIN(CASE WHEN part = 'eyes' THEN points END) AS eyes
    FROM charted
    WHERE part IS NOT NULL AND points IS NOT NULL
    GROUP BY patientunitstayid, nursingchartoffset
),

-- the range test comes after the minimum: an impossible total hides a possible one at the same time
scored AS (
    SELECT
        patientunitstayid,
        nursingchartoffset,
        CASE
            WHEN total > 2 AND total < 16 THEN total
            ELSE COALESCE(eyes, 4) + COALESCE(motor, 6) + COALESCE(verbal, 5)
        END AS gcs,
        motor,
        verbal,
        eyes
    FROM at_offset
),

lowest AS (
    SELECT patientunitstayid, gcs, motor, verbal, eyes
    FROM scored
    QUALIFY ROW_NUMBER() OVER (PARTITION BY patientunitstayid ORDER BY gcs, nursingchartoffset) = 1
)

SELECT
    patient.patientunitstayid,
    patient.uniquepid,
    patient.patienthealthsystemstayid,
    CAST(COALESCE(lowest.gcs, 15) AS DOUBLE) AS gcs_min,
    CAST(COALESCE(lowest.motor, 6) AS DOUBLE) AS gcs_motor,
    CAST(COALESCE(lowest.verbal, 5) AS DOUBLE) AS gcs_verbal,
    CAST(COALESCE(lowest.eyes, 4) AS DOUBLE) AS gcs_eyes
FROM eicu_crd.patient AS patient
LEFT JOIN lowest ON lowest.patientunitstayid = patient.patientunitstayid
