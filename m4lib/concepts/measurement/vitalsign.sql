-- Vital signs, temperature, oxygen saturation and bedside glucose.
-- Grain:  one row per subject_id, stay_id and charttime; rows stay when no value is plausible.
-- Source: public concept MIT-LCP/mimic-code measurement/vitalsign; plausible ranges as there.
-- Units:  /min, mmHg, degrees Celsius, %, mg/dL. Each value is the mean of the plausible readings of that time,
--         rounded to 9 decimals: finer than any measurement, coarse enough to hide the order of addition.
WITH reading AS (
    SELECT
        subject_id, stay_id, charttime, itemid, value, valuenum
    FROM mimiciv_icu.chartevents
    WHERE stay_id IS NOT NULL
        AND itemid IN (
            220045,                 -- Heart Rate
            220050, 220051, 220052, -- Arterial Blood Pressure systolic, diastolic, mean
            220179, 220180, 220181, -- Non Invasive Blood Pressure systolic, diastolic, mean
            225309, 225310, 225312, -- ART BP Systolic, Diastolic, Mean
            220210, 224690,         -- Respiratory Rate, Respiratory Rate (Total)
            223761, 223762,         -- Temperature Fahrenheit, Temperature Celsius
            224642,                 -- Temperature Site
            220277,                 -- O2 saturation pulseoxymetry
            225664, 220621, 226537  -- Glucose finger stick, Glucose (serum), Glucose (whole blood)
        )
)

SELECT
    subject_id,
    stay_id,
    charttime,
    ROUND(AVG(CASE WHEN itemid = 220045 AND valuenum > 0 AND valuenum < 300 THEN valuenum END), 9) AS heart_rate,
    -- arterial and cuff readings weigh the same
    ROUND(AVG(CASE WHEN itemid IN (220179, 220050, 225309) AND valuenum > 0 AND valuenum < 400 THEN valuenum END), 9) AS sbp,
    ROUND(AVG(CASE WHEN itemid IN (220180, 220051, 225310) AND valuenum > 0 AND valuenum < 300 THEN valuenum END), 9) AS dbp,
    ROUND(AVG(CASE WHEN itemid IN (220052, 220181, 225312) AND valuenum > 0 AND valuenum < 300 THEN valuenum END), 9) AS mbp,
    ROUND(AVG(CASE WHEN itemid = 220179 AND valuenum > 0 AND valuenum < 400 THEN valuenum END), 9) AS sbp_ni,
    ROUND(AVG(CASE WHEN itemid = 220180 AND valuenum > 0 AND valuenum < 300 THEN valuenum END), 9) AS dbp_ni,
    ROUND(AVG(CASE WHEN itemid = 220181 AND valuenum > 0 AND valuenum < 300 THEN valuenum END), 9) AS mbp_ni,
    ROUND(AVG(CASE WHEN itemid IN (220210, 224690) AND valuenum > 0 AND valuenum < 70 THEN valuenum END), 9) AS resp_rate,
    -- three decimals first, then two: the double rounding is part of the definition
    ROUND(TRY_CAST(AVG(CASE
        WHEN itemid = 223761 AND valuenum > 70 AND valuenum < 120 THEN (valuenum - 32) / 1.8
        WHEN itemid = 223762 AND valuenum > 10 AND valuenum < 50 THEN valuenum
    END) AS DECIMAL(18, 3)), 2) AS temperature,
    MAX(CASE WHEN itemid = 224642 THEN value END) AS temperature_site,
    ROUND(AVG(CASE WHEN itemid = 220277 AND valuenum > 0 AND valuenum <= 100 THEN valuenum END), 9) AS spo2,
    ROUND(AVG(CASE WHEN itemid IN (225664, 220621, 226537) AND valuenum > 0 THEN valuenum END), 9) AS glucose
FROM reading
GROUP BY subject_id, stay_id, charttime
