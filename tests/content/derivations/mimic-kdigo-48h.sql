-- mimic-kdigo-48h, derived from the instruction and the skill kdigo-aki-staging as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH ca AS (
  SELECT stay_id, max(CASE WHEN cr >= 3.0::DOUBLE * low7 THEN 3
              WHEN cr >= 4 AND (low48 <= 3.7::DOUBLE OR cr >= 1.5::DOUBLE * low7) THEN 3
              WHEN cr >= 2.0::DOUBLE * low7 THEN 2
              WHEN cr >= low48 + 0.3::DOUBLE THEN 1
              WHEN cr >= 1.5::DOUBLE * low7 THEN 1
              ELSE 0 END) AS s
  FROM (SELECT i.stay_id, i.intime, k.charttime AS t, k.creat AS cr, k.creat_low_past_48hr AS low48, k.creat_low_past_7day AS low7
        FROM mimiciv_icu.icustays i JOIN mimiciv_derived.kdigo_creatinine k ON k.stay_id = i.stay_id)
  WHERE t BETWEEN intime AND intime + INTERVAL 48 HOUR GROUP BY 1
), ua AS (
  SELECT stay_id, max(CASE WHEN r6 IS NULL THEN NULL
              WHEN t <= intime + INTERVAL 6 HOUR THEN 0
              WHEN g24 >= 24 AND r24 < 0.3 THEN 3
              WHEN g12 >= 12 AND r12 = 0 THEN 3
              WHEN g12 >= 12 AND r12 < 0.5 THEN 2
              WHEN g6 >= 6 AND r6 < 0.5 THEN 1
              ELSE 0 END) AS s
  FROM (SELECT i.stay_id, i.intime, k.charttime AS t, k.uo_rt_6hr AS r6, k.uo_rt_12hr AS r12, k.uo_rt_24hr AS r24,
               k.uo_tm_6hr AS g6, k.uo_tm_12hr AS g12, k.uo_tm_24hr AS g24
        FROM mimiciv_icu.icustays i JOIN mimiciv_derived.kdigo_uo k ON k.stay_id = i.stay_id)
  WHERE t BETWEEN intime AND intime + INTERVAL 48 HOUR GROUP BY 1
), ra AS (
  SELECT i.stay_id, 3 AS s FROM mimiciv_icu.icustays i JOIN mimiciv_derived.crrt c ON c.stay_id = i.stay_id
  WHERE c.crrt_mode IS NOT NULL AND c.charttime BETWEEN i.intime AND i.intime + INTERVAL 48 HOUR
  GROUP BY 1
)
SELECT i.subject_id, i.hadm_id, i.stay_id,
       greatest(coalesce(a.s, 0), coalesce(u.s, 0), coalesce(r.s, 0)) AS aki_stage,
       coalesce(a.s, 0) AS aki_stage_creat, coalesce(u.s, 0) AS aki_stage_uo, coalesce(r.s, 0) AS aki_stage_crrt
FROM mimiciv_icu.icustays i
LEFT JOIN ca a ON a.stay_id = i.stay_id LEFT JOIN ua u ON u.stay_id = i.stay_id LEFT JOIN ra r ON r.stay_id = i.stay_id
