-- mimic-ventilation-raw, derived from the instruction and the skill ventilation-classification as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH flow AS (
  SELECT subject_id, charttime, max(stay_id) AS stay_id FROM mimiciv_icu.chartevents
  WHERE itemid IN (223834, 227582, 227287) AND value IS NOT NULL GROUP BY 1, 2
), devrec AS (
  SELECT subject_id, charttime, CASE WHEN count(*) = count(value) THEN min(value) END AS dev
  FROM mimiciv_icu.chartevents WHERE itemid = 226732 GROUP BY 1, 2
), dev AS (
  SELECT f.stay_id, f.charttime, d.dev FROM flow f
  JOIN devrec d ON d.subject_id = f.subject_id AND d.charttime = f.charttime
), vent AS (
  SELECT max(stay_id) AS stay_id, charttime,
         max(CASE WHEN itemid = 223849 THEN value END) AS vm, max(CASE WHEN itemid = 229314 THEN value END) AS hm
  FROM mimiciv_icu.chartevents
  WHERE itemid IN (223849, 229314, 223848, 223835, 220339, 224700, 224684, 224685, 224686, 224687,
                   224688, 224689, 224690, 224691, 224696)
    AND value IS NOT NULL AND stay_id IS NOT NULL
  GROUP BY subject_id, charttime
),
obs0 AS (
  SELECT coalesce(d.stay_id, v.stay_id) AS stay_id, coalesce(d.charttime, v.charttime) AS t, d.dev, v.vm, v.hm
  FROM dev d FULL OUTER JOIN vent v ON v.stay_id = d.stay_id AND v.charttime = d.charttime
), obs1 AS (
  SELECT stay_id, t, CASE
    WHEN dev IN ('Tracheostomy tube', 'Trach mask ') THEN 'Tracheostomy'
    WHEN dev = 'Endotracheal tube'
      OR vm IN ('(S) CMV', 'APRV', 'APRV/Biphasic+ApnPress', 'APRV/Biphasic+ApnVol', 'APV (cmv)', 'Ambient', 'Apnea Ventilation', 'CMV', 'CMV/ASSIST', 'CMV/ASSIST/AutoFlow', 'CMV/AutoFlow', 'CPAP/PPS', 'CPAP/PSV', 'CPAP/PSV+Apn TCPL', 'CPAP/PSV+ApnPres', 'CPAP/PSV+ApnVol', 'MMV', 'MMV/AutoFlow', 'MMV/PSV', 'MMV/PSV/AutoFlow', 'P-CMV', 'PCV+', 'PCV+/PSV', 'PCV+Assist', 'PRES/AC', 'PRVC/AC', 'PRVC/SIMV', 'PSV/SBT', 'SIMV', 'SIMV/AutoFlow', 'SIMV/PRES', 'SIMV/PSV', 'SIMV/PSV/AutoFlow', 'SIMV/VOL', 'SYNCHRON MASTER', 'SYNCHRON SLAVE', 'VOL/AC')
      OR hm IN ('APRV', 'APV (cmv)', 'Ambient', '(S) CMV', 'P-CMV', 'SIMV', 'APV (simv)', 'P-SIMV', 'VS', 'ASV') THEN 'InvasiveVent'
    WHEN dev IN ('Bipap mask ', 'CPAP mask ') OR hm IN ('DuoPaP', 'NIV', 'NIV-ST') THEN 'NonInvasiveVent'
    WHEN dev = 'High flow nasal cannula' THEN 'HFNC'
    WHEN dev IN ('Non-rebreather', 'Face tent', 'Aerosol-cool', 'Venti mask ', 'Medium conc mask ', 'Ultrasonic neb',
                 'Vapomist', 'Oxymizer', 'High flow neb', 'Nasal cannula') THEN 'SupplementalOxygen'
    WHEN dev = 'None' THEN 'None' END AS status
  FROM obs0
), obs AS (
  SELECT stay_id, t, status,
         lag(t) OVER ss AS prev_same, lag(status) OVER s AS prev_status, lead(t) OVER s AS nxt
  FROM obs1 WHERE status IS NOT NULL AND stay_id IS NOT NULL
  WINDOW s AS (PARTITION BY stay_id ORDER BY t), ss AS (PARTITION BY stay_id, status ORDER BY t)
), ep AS (
  SELECT *, sum(CASE WHEN prev_status IS NULL OR prev_status <> status
                       OR epoch(t - prev_same) >= 14 * 3600 THEN 1 ELSE 0 END)
            OVER (PARTITION BY stay_id ORDER BY t) AS e
  FROM obs
), agg AS (
  SELECT stay_id, e, status, min(t) AS starttime, max(t) AS last_own,
         max(CASE WHEN epoch(nxt - t) < 14 * 3600 THEN nxt ELSE t END) AS endtime
  FROM ep GROUP BY 1, 2, 3
)
SELECT stay_id, row_number() OVER (PARTITION BY stay_id ORDER BY starttime) AS ventilation_seq,
       starttime, endtime, status AS ventilation_status
FROM agg WHERE starttime <> last_own
