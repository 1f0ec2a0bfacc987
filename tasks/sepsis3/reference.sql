-- Sepsis-3: the first time in an ICU stay at which SOFA >= 2 meets a suspected infection.
-- Grain: one row per qualifying ICU stay; other stays are absent.
-- Window: end of the SOFA hour from 48 h before to 24 h after the time of suspected infection, both ends included.
-- SOFA: rolling 24-hour score of the hour, baseline taken as 0.
-- Source: Singer M et al., JAMA 2016;315:801-810; Seymour CW et al., JAMA 2016;315:762-774.
WITH candidate AS (
    SELECT
        infection.subject_id,
        infection.stay_id,
        infection.antibiotic_time,
        infection.culture_time,
        infection.suspected_infection_time,
        infection.suspected_infection,
        organ.endtime AS sofa_time,
        organ.sofa_24hours AS sofa_score,
        organ.respiration_24hours AS respiration,
        organ.coagulation_24hours AS coagulation,
        organ.liver_24hours AS liver,
        organ.cardiovascular_24hours AS cardiovascular,
        organ.cns_24hours AS cns,
        organ.renal_24hours AS renal
    FROM mimiciv_derived.suspicion_of_infection AS infection
    INNER JOIN mimiciv_derived.sofa AS organ
        ON organ.stay_id = infection.stay_id
        AND organ.endtime >= infection.suspected_infection_time - INTERVAL 48 HOUR
        AND organ.endtime <= infection.suspected_infection_time + INTERVAL 24 HOUR
    WHERE organ.sofa_24hours >= 2
    -- further ties give the same row
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY infection.stay_id
        ORDER BY
            infection.suspected_infection_time NULLS FIRST,
            infection.antibiotic_time NULLS FIRST,
            infection.culture_time NULLS FIRST,
            organ.endtime NULLS FIRST
    ) = 1
)

SELECT
    subject_id,
    stay_id,
    antibiotic_time,
    culture_time,
    suspected_infection_time,
    sofa_time,
    sofa_score,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal,
    CASE WHEN sofa_score >= 2 AND suspected_infection = 1 THEN 1 ELSE 0 END AS sepsis3
FROM candidate
