-- Suspected infection: each systemic antibiotic order with the culture taken close to it, if any.
-- Grain: one row per derived antibiotic row; orders outside an ICU stay and orders without a culture stay.
-- Match: by patient. Culture up to 72 h before the antibiotic (a date-only culture: 3 days) comes first, then culture up
-- to 24 h after it (date-only: 1 day); a culture at exactly the antibiotic's time matches neither way.
-- Source: Seymour CW et al., JAMA 2016;315:762-774; Singer M et al., JAMA 2016;315:801-810.
WITH antibiotic_order AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        antibiotic,
        starttime AS antibiotic_time,
        CAST(starttime AS DATE) AS antibiotic_date,
        ROW_NUMBER() OVER (
            PARTITION BY subject_id
            ORDER BY
                starttime NULLS FIRST,
                stoptime NULLS FIRST,
                antibiotic NULLS FIRST,
                hadm_id NULLS FIRST,
                stay_id NULLS FIRST
        ) AS ab_id
    FROM mimiciv_derived.antibiotic
),

-- one row per specimen, whatever its type; positive when any organism other than "NEGATIVE" (90856) is named
culture AS (
    SELECT
        micro_specimen_id,
        MAX(subject_id) AS subject_id,
        CAST(MAX(chartdate) AS DATE) AS chartdate,
        MAX(charttime) AS charttime,
        MAX(spec_type_desc) AS specimen,
        MAX(CASE
            WHEN org_name IS NOT NULL AND org_name <> '' AND org_itemid <> 90856 THEN 1
            ELSE 0
        END) AS positive_culture
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
),

culture_before AS (
    SELECT
        antibiotic_order.subject_id,
        antibiotic_order.ab_id,
        COALESCE(culture.charttime, CAST(culture.chartdate AS TIMESTAMP)) AS culture_time,
        culture.specimen,
        culture.positive_culture
    FROM antibiotic_order
    INNER JOIN culture
        ON culture.subject_id = antibiotic_order.subject_id
        AND (
            (
                culture.charttime IS NOT NULL
                AND culture.charttime < antibiotic_order.antibiotic_time
                AND antibiotic_order.antibiotic_time <= culture.charttime + INTERVAL 72 HOUR
            )
            OR (
                culture.charttime IS NULL
                AND culture.chartdate <= antibiotic_order.antibiotic_date
                AND antibiotic_order.antibiotic_date <= culture.chartdate + INTERVAL 3 DAY
            )
        )
    -- the earliest; a date-only culture precedes the timed ones of its day
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY antibiotic_order.subject_id, antibiotic_order.ab_id
        ORDER BY culture.chartdate NULLS FIRST, culture.charttime NULLS FIRST, culture.micro_specimen_id NULLS FIRST
    ) = 1
),

culture_after AS (
    SELECT
        antibiotic_order.subject_id,
        antibiotic_order.ab_id,
        COALESCE(culture.charttime, CAST(culture.chartdate AS TIMESTAMP)) AS culture_time,
        culture.specimen,
        culture.positive_culture
    FROM antibiotic_order
    INNER JOIN culture
        ON culture.subject_id = antibiotic_order.subject_id
        AND (
            (
                culture.charttime IS NOT NULL
                AND culture.charttime - INTERVAL 24 HOUR <= antibiotic_order.antibiotic_time
                AND antibiotic_order.antibiotic_time < culture.charttime
            )
            OR (
                culture.charttime IS NULL
                AND culture.chartdate - INTERVAL 1 DAY <= antibiotic_order.antibiotic_date
                AND antibiotic_order.antibiotic_date <= culture.chartdate
            )
        )
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY antibiotic_order.subject_id, antibiotic_order.ab_id
        ORDER BY culture.chartdate NULLS FIRST, culture.charttime NULLS FIRST, culture.micro_specimen_id NULLS FIRST
    ) = 1
)

-- time, specimen and positivity fall back from "before" to "after" each on its own; the flag hangs on the specimen text
SELECT
    antibiotic_order.subject_id,
    antibiotic_order.stay_id,
    antibiotic_order.hadm_id,
    antibiotic_order.ab_id,
    antibiotic_order.antibiotic,
    antibiotic_order.antibiotic_time,
    CASE WHEN culture_before.specimen IS NULL AND culture_after.specimen IS NULL THEN 0 ELSE 1 END AS suspected_infection,
    CASE
        WHEN culture_before.specimen IS NULL AND culture_after.specimen IS NULL THEN NULL
        ELSE COALESCE(culture_before.culture_time, antibiotic_order.antibiotic_time)
    END AS suspected_infection_time,
    COALESCE(culture_before.culture_time, culture_after.culture_time) AS culture_time,
    COALESCE(culture_before.specimen, culture_after.specimen) AS specimen,
    COALESCE(culture_before.positive_culture, culture_after.positive_culture) AS positive_culture
FROM antibiotic_order
LEFT JOIN culture_before
    ON culture_before.subject_id = antibiotic_order.subject_id AND culture_before.ab_id = antibiotic_order.ab_id
LEFT JOIN culture_after
    ON culture_after.subject_id = antibiotic_order.subject_id AND culture_after.ab_id = antibiotic_order.ab_id
