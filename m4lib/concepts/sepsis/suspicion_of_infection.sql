-- suspicion_of_infection: every systemic antibiotic prescription, with the microbiology culture, if
-- any, that together with it makes a suspected infection.
--
-- Grain:  one row per row of `antibiotic`, also outside the ICU and without culture.
-- Rules:  a culture counts when the antibiotic follows it within 72 hours, or precedes it by at most
--         24 hours; a culture dated without a time counts by calendar days (3 days, 1 day). In each
--         direction the earliest culture is taken; the culture-first direction has priority. All
--         cultures of the patient count, whatever the admission, the specimen or the result.
-- Ties:   equal antibiotics are numbered by admission, stay and route; equal cultures by specimen id.
-- Source: Seymour CW et al., JAMA 2016;315:762-774; MIMIC-IV derived concept
--         `suspicion_of_infection` (MIT-LCP mimic-code, concepts/sepsis).
-- Units:  flags 0/1; times.
WITH ab AS (
    SELECT
        subject_id,
        hadm_id,
        stay_id,
        antibiotic,
        starttime AS antibiotic_time,
        DATE_TRUNC('day', starttime) AS antibiotic_date,
        ROW_NUMBER() OVER (
            PARTITION BY subject_id
            ORDER BY
                starttime NULLS FIRST,
                stoptime NULLS FIRST,
                antibiotic NULLS FIRST,
                hadm_id NULLS FIRST,
                stay_id NULLS FIRST,
                route NULLS FIRST
        ) AS ab_id
    FROM mimiciv_derived.antibiotic
),

culture AS (
    SELECT
        micro_specimen_id,
        MAX(subject_id) AS subject_id,
        CAST(MAX(chartdate) AS DATE) AS chartdate,
        MAX(charttime) AS charttime,  -- NULL: only the date is known
        MAX(spec_type_desc) AS specimen,
        MAX(CASE
            WHEN org_name IS NOT NULL AND org_name <> '' AND org_itemid <> 90856 THEN 1  -- 90856: "NEGATIVE"
            ELSE 0
        END) AS positive
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
),

culture_first_pair AS (
    SELECT
        ab.subject_id,
        ab.ab_id,
        culture.micro_specimen_id,
        culture.chartdate,
        culture.charttime,
        culture.specimen,
        culture.positive
    FROM ab
    INNER JOIN culture
        ON ab.subject_id = culture.subject_id
        AND ab.antibiotic_time > culture.charttime
        AND ab.antibiotic_time <= culture.charttime + INTERVAL '72' HOUR
    UNION ALL
    SELECT
        ab.subject_id,
        ab.ab_id,
        culture.micro_specimen_id,
        culture.chartdate,
        culture.charttime,
        culture.specimen,
        culture.positive
    FROM ab
    INNER JOIN culture
        ON ab.subject_id = culture.subject_id
        AND ab.antibiotic_date >= culture.chartdate
        AND ab.antibiotic_date <= culture.chartdate + INTERVAL '3' DAY
    WHERE culture.charttime IS NULL
),

antibiotic_first_pair AS (
    SELECT
        ab.subject_id,
        ab.ab_id,
        culture.micro_specimen_id,
        culture.chartdate,
        culture.charttime,
        culture.specimen,
        culture.positive
    FROM ab
    INNER JOIN culture
        ON ab.subject_id = culture.subject_id
        AND ab.antibiotic_time >= culture.charttime - INTERVAL '24' HOUR
        AND ab.antibiotic_time < culture.charttime
    UNION ALL
    SELECT
        ab.subject_id,
        ab.ab_id,
        culture.micro_specimen_id,
        culture.chartdate,
        culture.charttime,
        culture.specimen,
        culture.positive
    FROM ab
    INNER JOIN culture
        ON ab.subject_id = culture.subject_id
        AND ab.antibiotic_date >= culture.chartdate - INTERVAL '1' DAY
        AND ab.antibiotic_date <= culture.chartdate
    WHERE culture.charttime IS NULL
),

-- The earliest culture of each direction; on one date a timed culture comes before an untimed one.
culture_first AS (
    SELECT
        subject_id,
        ab_id,
        COALESCE(charttime, CAST(chartdate AS TIMESTAMP)) AS culture_time,
        specimen,
        positive
    FROM culture_first_pair
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY subject_id, ab_id
        ORDER BY chartdate NULLS FIRST, charttime NULLS LAST, micro_specimen_id NULLS LAST
    ) = 1
),

antibiotic_first AS (
    SELECT
        subject_id,
        ab_id,
        COALESCE(charttime, CAST(chartdate AS TIMESTAMP)) AS culture_time,
        specimen,
        positive
    FROM antibiotic_first_pair
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY subject_id, ab_id
        ORDER BY chartdate NULLS FIRST, charttime NULLS LAST, micro_specimen_id NULLS LAST
    ) = 1
)

SELECT
    ab.subject_id,
    ab.stay_id,
    ab.hadm_id,
    ab.ab_id,
    ab.antibiotic,
    ab.antibiotic_time,
    -- The specimen's text decides: a culture of unnamed specimen fills its time but not the flag.
    CASE WHEN COALESCE(before.specimen, after.specimen) IS NULL THEN 0 ELSE 1 END AS suspected_infection,
    CASE
        WHEN COALESCE(before.specimen, after.specimen) IS NULL THEN NULL
        ELSE COALESCE(before.culture_time, ab.antibiotic_time)
    END AS suspected_infection_time,
    COALESCE(before.culture_time, after.culture_time) AS culture_time,
    COALESCE(before.specimen, after.specimen) AS specimen,
    COALESCE(before.positive, after.positive) AS positive_culture
FROM ab
LEFT JOIN culture_first AS before
    ON ab.subject_id = before.subject_id AND ab.ab_id = before.ab_id
LEFT JOIN antibiotic_first AS after
    ON ab.subject_id = after.subject_id AND ab.ab_id = after.ab_id
