-- sepsis3: first time in each ICU stay that a suspected infection coincides with organ dysfunction.
--
-- Grain:  one row per ICU stay that meets Sepsis-3; other stays have none.
-- Rules:  suspected infection by an antibiotic begun in the stay, and a SOFA of 2 or more (worst 24
--         hours; the baseline is taken as 0) at an hour from 48 h before to 24 h after the suspected
--         infection, both ends included. The first infection that has such an hour is kept, with its
--         first such hour.
-- Source: Singer M et al., JAMA 2016;315:801-810; Seymour CW et al., JAMA 2016;315:762-774; MIMIC-IV
--         derived concept `sepsis3` (MIT-LCP mimic-code, concepts/sepsis).
-- Units:  SOFA points of the past 24 hours; sepsis3 is always true.
WITH dysfunction AS (
    SELECT
        stay_id,
        endtime AS sofa_time,
        sofa_24hours AS sofa_score,
        respiration_24hours AS respiration,
        coagulation_24hours AS coagulation,
        liver_24hours AS liver,
        cardiovascular_24hours AS cardiovascular,
        cns_24hours AS cns,
        renal_24hours AS renal
    FROM mimiciv_derived.sofa
    WHERE sofa_24hours >= 2
),

infection AS (
    SELECT DISTINCT
        subject_id,
        stay_id,
        antibiotic_time,
        culture_time,
        suspected_infection,
        suspected_infection_time
    FROM mimiciv_derived.suspicion_of_infection
    WHERE stay_id IS NOT NULL AND suspected_infection_time IS NOT NULL
),

first_hour AS (
    SELECT
        infection.*,
        MIN(dysfunction.sofa_time) AS sofa_time
    FROM infection
    INNER JOIN dysfunction
        ON infection.stay_id = dysfunction.stay_id
        AND dysfunction.sofa_time >= infection.suspected_infection_time - INTERVAL '48' HOUR
        AND dysfunction.sofa_time <= infection.suspected_infection_time + INTERVAL '24' HOUR
    GROUP BY ALL
),

first_infection AS (
    SELECT *
    FROM first_hour
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY stay_id
        ORDER BY
            suspected_infection_time NULLS FIRST,
            antibiotic_time NULLS FIRST,
            culture_time NULLS FIRST,
            sofa_time NULLS FIRST
    ) = 1
)

SELECT
    first_infection.subject_id,
    first_infection.stay_id,
    first_infection.antibiotic_time,
    first_infection.culture_time,
    first_infection.suspected_infection_time,
    first_infection.sofa_time,
    dysfunction.sofa_score,
    dysfunction.respiration,
    dysfunction.coagulation,
    dysfunction.liver,
    dysfunction.cardiovascular,
    dysfunction.cns,
    dysfunction.renal,
    dysfunction.sofa_score >= 2 AND first_infection.suspected_infection = 1 AS sepsis3
FROM first_infection
INNER JOIN dysfunction
    ON first_infection.stay_id = dysfunction.stay_id
    AND first_infection.sofa_time = dysfunction.sofa_time
