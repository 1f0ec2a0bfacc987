-- Episodes of respiratory support.
-- Grain: one row per ICU stay and episode, numbered by start; episodes of a single time point are dropped.
-- Status of a time point: the first of six kinds that its device or ventilator mode names; texts are exact, and a
-- trailing blank is part of the text. Points without a known kind are dropped before episodes are formed.
-- Episode: same kind, less than 14 h between neighbours; it ends at the next point when that follows within 14 h.
-- Source: MIMIC-IV as in Johnson AEW et al., Sci Data 2023;10:1, with the conventions of the public MIMIC-IV concept.
WITH time_point AS (
    SELECT stay_id, charttime FROM mimiciv_derived.ventilator_setting
    UNION
    SELECT stay_id, charttime FROM mimiciv_derived.oxygen_delivery
),

classified AS (
    SELECT
        time_point.stay_id,
        time_point.charttime,
        CASE
            WHEN oxygen.o2_delivery_device_1 IN ('Tracheostomy tube', 'Trach mask ') THEN 'Tracheostomy'
            WHEN oxygen.o2_delivery_device_1 = 'Endotracheal tube'
                OR setting.ventilator_mode IN (
                    '(S) CMV', 'APRV', 'APRV/Biphasic+ApnPress', 'APRV/Biphasic+ApnVol', 'APV (cmv)', 'Ambient',
                    'Apnea Ventilation', 'CMV', 'CMV/ASSIST', 'CMV/ASSIST/AutoFlow', 'CMV/AutoFlow', 'CPAP/PPS',
                    'CPAP/PSV', 'CPAP/PSV+Apn TCPL', 'CPAP/PSV+ApnPres', 'CPAP/PSV+ApnVol', 'MMV', 'MMV/AutoFlow',
                    'MMV/PSV', 'MMV/PSV/AutoFlow', 'P-CMV', 'PCV+', 'PCV+/PSV', 'PCV+Assist', 'PRES/AC', 'PRVC/AC',
                    'PRVC/SIMV', 'PSV/SBT', 'SIMV', 'SIMV/AutoFlow', 'SIMV/PRES', 'SIMV/PSV', 'SIMV/PSV/AutoFlow',
                    'SIMV/VOL', 'SYNCHRON MASTER', 'SYNCHRON SLAVE', 'VOL/AC'
                )
                OR setting.ventilator_mode_hamilton IN (
                    'APRV', 'APV (cmv)', 'Ambient', '(S) CMV', 'P-CMV', 'SIMV', 'APV (simv)', 'P-SIMV', 'VS', 'ASV'
                ) THEN 'InvasiveVent'
            WHEN oxygen.o2_delivery_device_1 IN ('Bipap mask ', 'CPAP mask ')
                OR setting.ventilator_mode_hamilton IN ('DuoPaP', 'NIV', 'NIV-ST') THEN 'NonInvasiveVent'
            WHEN oxygen.o2_delivery_device_1 = 'High flow nasal cannula' THEN 'HFNC'
            WHEN oxygen.o2_delivery_device_1 IN (
                'Non-rebreather', 'Face tent', 'Aerosol-cool', 'Venti mask ', 'Medium conc mask ', 'Ultrasonic neb',
                'Vapomist', 'Oxymizer', 'High flow neb', 'Nasal cannula'
            ) THEN 'SupplementalOxygen'
            WHEN oxygen.o2_delivery_device_1 = 'None' THEN 'None'
        END AS ventilation_status
    FROM time_point
    LEFT JOIN mimiciv_derived.ventilator_setting AS setting
        ON setting.stay_id = time_point.stay_id AND setting.charttime = time_point.charttime
    LEFT JOIN mimiciv_derived.oxygen_delivery AS oxygen
        ON oxygen.stay_id = time_point.stay_id AND oxygen.charttime = time_point.charttime
),

neighbour AS (
    SELECT
        stay_id,
        charttime,
        ventilation_status,
        LAG(ventilation_status) OVER (PARTITION BY stay_id ORDER BY charttime) AS previous_status,
        LAG(charttime) OVER (PARTITION BY stay_id, ventilation_status ORDER BY charttime) AS previous_same_time,
        LEAD(charttime) OVER (PARTITION BY stay_id ORDER BY charttime) AS next_time
    FROM classified
    WHERE ventilation_status IS NOT NULL
),

numbered AS (
    SELECT
        stay_id,
        charttime,
        ventilation_status,
        next_time,
        SUM(CASE
            WHEN previous_status IS NULL THEN 1
            WHEN previous_status <> ventilation_status THEN 1
            WHEN charttime >= previous_same_time + INTERVAL 14 HOUR THEN 1
            ELSE 0
        END) OVER (PARTITION BY stay_id ORDER BY charttime ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS episode
    FROM neighbour
),

episodes AS (
    SELECT
        stay_id,
        MIN(charttime) AS starttime,
        MAX(CASE WHEN next_time < charttime + INTERVAL 14 HOUR THEN next_time ELSE charttime END) AS endtime,
        MAX(ventilation_status) AS ventilation_status
    FROM numbered
    GROUP BY stay_id, episode
    HAVING MIN(charttime) <> MAX(charttime)
)

SELECT
    stay_id,
    ROW_NUMBER() OVER (PARTITION BY stay_id ORDER BY starttime) AS ventilation_seq,
    starttime,
    endtime,
    ventilation_status
FROM episodes
