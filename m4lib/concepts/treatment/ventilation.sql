-- Episodes of respiratory support: tracheostomy, invasive and non-invasive ventilation, high flow nasal cannula,
-- supplemental oxygen, or none.
-- Grain:  one row per episode of an ICU stay; an episode seen at one time only is left out, but ends the one before.
-- Source: public concept MIT-LCP/mimic-code treatment/ventilation.
-- Rules:  an episode ends at the first time of the next status, or after 14 hours without a charted status.
--         Some device names end in a blank that is part of the text.
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
            WHEN oxygen.o2_delivery_device_1 IN ('Tracheostomy tube', 'Trach mask ')
                THEN 'Tracheostomy'
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
                )
                THEN 'InvasiveVent'
            WHEN oxygen.o2_delivery_device_1 IN ('Bipap mask ', 'CPAP mask ')
                OR setting.ventilator_mode_hamilton IN ('DuoPaP', 'NIV', 'NIV-ST')
                THEN 'NonInvasiveVent'
            WHEN oxygen.o2_delivery_device_1 = 'High flow nasal cannula'
                THEN 'HFNC'
            WHEN oxygen.o2_delivery_device_1 IN (
                'Non-rebreather', 'Face tent', 'Aerosol-cool', 'Venti mask ', 'Medium conc mask ', 'Ultrasonic neb',
                'Vapomist', 'Oxymizer', 'High flow neb', 'Nasal cannula'
            )
                THEN 'SupplementalOxygen'
            WHEN oxygen.o2_delivery_device_1 = 'None'
                THEN 'None'
        END AS ventilation_status
    FROM time_point
    LEFT JOIN mimiciv_derived.ventilator_setting AS setting
        ON time_point.stay_id = setting.stay_id AND time_point.charttime = setting.charttime
    LEFT JOIN mimiciv_derived.oxygen_delivery AS oxygen
        ON time_point.stay_id = oxygen.stay_id AND time_point.charttime = oxygen.charttime
),

neighbour AS (
    SELECT
        stay_id,
        charttime,
        ventilation_status,
        LAG(ventilation_status) OVER in_time AS last_status,
        LEAD(charttime) OVER in_time AS next_time,
        LAG(charttime) OVER (PARTITION BY stay_id, ventilation_status ORDER BY charttime) AS last_time_of_status
    FROM classified
    WHERE ventilation_status IS NOT NULL
    WINDOW in_time AS (PARTITION BY stay_id ORDER BY charttime, ventilation_status)
),

numbered AS (
    SELECT
        *,
        SUM(CASE
            WHEN last_status IS NULL THEN 1
            WHEN last_time_of_status <= charttime - INTERVAL 14 HOUR THEN 1
            WHEN last_status <> ventilation_status THEN 1
            ELSE 0
        END) OVER (PARTITION BY stay_id ORDER BY charttime, ventilation_status) AS episode
    FROM neighbour
)

SELECT
    stay_id,
    MIN(charttime) AS starttime,
    MAX(CASE WHEN next_time < charttime + INTERVAL 14 HOUR THEN next_time ELSE charttime END) AS endtime,
    ventilation_status
FROM numbered
GROUP BY stay_id, episode, ventilation_status
HAVING MIN(charttime) <> MAX(charttime)
