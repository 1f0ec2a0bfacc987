-- mimic-vasopressor-equivalents, derived from the instruction and the skill vasopressor-equivalents as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH rates AS (
  SELECT stay_id, starttime, endtime, norepinephrine AS ne, epinephrine AS epi, phenylephrine AS phe, dopamine AS dop,
         vasopressin AS vas
  FROM mimiciv_derived.vasoactive_agent
),
cand AS (
  SELECT stay_id, starttime, endtime,
         round((coalesce(ne, 0) + coalesce(epi, 0) + coalesce(phe, 0) / 10 + coalesce(dop, 0) / 100
                + coalesce(vas, 0) * 2.5::DOUBLE / 60) * 1000) / 1000 AS dose
  FROM rates
  WHERE ne IS NOT NULL OR epi IS NOT NULL OR phe IS NOT NULL OR dop IS NOT NULL OR vas IS NOT NULL
)
SELECT stay_id, starttime, endtime, max(CASE WHEN isfinite(dose) THEN dose END) AS norepinephrine_equivalent_dose
FROM cand GROUP BY 1, 2, 3
