-- mimic-suspicion-infection, derived from the instruction and the skill suspicion-of-infection as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH ab AS (
  SELECT subject_id, hadm_id, stay_id, antibiotic AS drug, starttime, stoptime FROM mimiciv_derived.antibiotic
),
cul AS (
  SELECT micro_specimen_id, max(subject_id) AS subject_id, max(charttime) AS charttime, max(chartdate)::DATE AS chartdate,
         max(spec_type_desc) AS specimen,
         max(CASE WHEN org_name IS NOT NULL AND org_name <> '' AND org_itemid <> 90856 THEN 1 ELSE 0 END) AS positive
  FROM mimiciv_hosp.microbiologyevents GROUP BY micro_specimen_id
), abn AS (
  SELECT *, row_number() OVER (PARTITION BY subject_id ORDER BY starttime NULLS FIRST, stoptime NULLS FIRST, drug NULLS FIRST,
                               hadm_id NULLS FIRST, stay_id NULLS FIRST) AS ab_id
  FROM ab
), b AS (
  SELECT a.subject_id, a.ab_id, c.*EXCLUDE (subject_id),
         row_number() OVER (PARTITION BY a.subject_id, a.ab_id
           ORDER BY c.chartdate NULLS FIRST, c.charttime NULLS FIRST, c.micro_specimen_id NULLS FIRST) AS k
  FROM abn a JOIN cul c ON c.subject_id = a.subject_id
   AND ((c.charttime IS NOT NULL AND c.charttime < a.starttime AND a.starttime <= c.charttime + INTERVAL 72 HOUR)
     OR (c.charttime IS NULL AND c.chartdate <= a.starttime::DATE AND a.starttime::DATE <= c.chartdate + 3))
), af AS (
  SELECT a.subject_id, a.ab_id, c.*EXCLUDE (subject_id),
         row_number() OVER (PARTITION BY a.subject_id, a.ab_id
           ORDER BY c.chartdate NULLS FIRST, c.charttime NULLS FIRST, c.micro_specimen_id NULLS FIRST) AS k
  FROM abn a JOIN cul c ON c.subject_id = a.subject_id
   AND ((c.charttime IS NOT NULL AND c.charttime - INTERVAL 24 HOUR <= a.starttime AND a.starttime < c.charttime)
     OR (c.charttime IS NULL AND c.chartdate - 1 <= a.starttime::DATE AND a.starttime::DATE <= c.chartdate))
)
SELECT a.subject_id, a.stay_id, a.hadm_id, a.ab_id, a.drug AS antibiotic, a.starttime AS antibiotic_time,
       CASE WHEN b.specimen IS NULL AND f.specimen IS NULL THEN 0 ELSE 1 END AS suspected_infection,
       CASE WHEN b.specimen IS NULL AND f.specimen IS NULL THEN NULL
            WHEN b.ab_id IS NOT NULL THEN coalesce(b.charttime, b.chartdate::TIMESTAMP)
            ELSE a.starttime END AS suspected_infection_time,
       coalesce(b.charttime, b.chartdate::TIMESTAMP, f.charttime, f.chartdate::TIMESTAMP) AS culture_time,
       coalesce(b.specimen, f.specimen) AS specimen,
       coalesce(b.positive, f.positive) AS positive_culture
FROM abn a
LEFT JOIN b ON b.subject_id = a.subject_id AND b.ab_id = a.ab_id AND b.k = 1
LEFT JOIN af f ON f.subject_id = a.subject_id AND f.ab_id = a.ab_id AND f.k = 1
