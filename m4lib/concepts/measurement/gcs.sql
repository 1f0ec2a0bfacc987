-- Glasgow Coma Scale: total and components at each charted time.
-- Grain:  one row per subject_id, stay_id and charttime with any component charted.
-- Source: Teasdale and Jennett, Lancet 1974;304:81-84; public concept MIT-LCP/mimic-code measurement/gcs.
-- Units:  points. gcs 3-15; motor 1-6, verbal 1-5 (0 = cannot be tested, intubated), eyes 1-4.
-- Rules:  a component that is not charted is taken from the row just before, when that is less than 6 hours old.
--         An intubated patient, or one who was intubated in the row before and has no verbal score now, counts as 15.
WITH charted AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        MAX(CASE WHEN itemid = 223901 THEN valuenum END) AS motor,    -- GCS - Motor Response
        MAX(CASE
            WHEN itemid = 223900 AND value = 'No Response-ETT' THEN 0 -- GCS - Verbal Response
            WHEN itemid = 223900 THEN valuenum
        END) AS verbal,
        MAX(CASE WHEN itemid = 220739 THEN valuenum END) AS eyes,     -- GCS - Eye Opening
        MAX(CASE WHEN itemid = 223900 AND value = 'No Response-ETT' THEN 1 ELSE 0 END) AS endotracheal
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (223900, 223901, 220739)
    GROUP BY subject_id, stay_id, charttime
),

-- only the row immediately before counts, however many components it has
neighbour AS (
    SELECT
        *,
        LAG(charttime) OVER before AS last_time,
        LAG(motor) OVER before AS last_motor,
        LAG(verbal) OVER before AS last_verbal,
        LAG(eyes) OVER before AS last_eyes
    FROM charted
    WINDOW before AS (PARTITION BY stay_id ORDER BY charttime, subject_id)
),

-- rows without a stay have no row before; 6 hours or older is too old
carried AS (
    SELECT
        subject_id, stay_id, charttime, motor, verbal, eyes, endotracheal,
        CASE WHEN recent THEN last_motor END AS last_motor,
        CASE WHEN recent THEN last_verbal END AS last_verbal,
        CASE WHEN recent THEN last_eyes END AS last_eyes
    FROM (
        SELECT *, stay_id IS NOT NULL AND last_time > charttime - INTERVAL 6 HOUR AS recent
        FROM neighbour
    )
)

SELECT
    subject_id,
    stay_id,
    charttime,
    CAST(CASE
        WHEN verbal = 0 THEN 15
        WHEN verbal IS NULL AND last_verbal = 0 THEN 15
        -- just extubated: what was charted under the tube is not carried forward
        WHEN last_verbal = 0 THEN COALESCE(motor, 6) + COALESCE(verbal, 5) + COALESCE(eyes, 4)
        ELSE COALESCE(motor, last_motor, 6) + COALESCE(verbal, last_verbal, 5) + COALESCE(eyes, last_eyes, 4)
    END AS DOUBLE) AS gcs,
    COALESCE(motor, last_motor) AS gcs_motor,
    COALESCE(verbal, last_verbal) AS gcs_verbal,
    COALESCE(eyes, last_eyes) AS gcs_eyes,
    endotracheal AS gcs_unable
FROM carried
