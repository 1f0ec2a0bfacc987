-- sofa: hourly Sequential Organ Failure Assessment (SOFA) of each ICU stay, with the worst value of
-- the past 24 hours of every component.
--
-- Grain:  one row per stay and hour (hr >= 0) of `icustay_hourly`; stays without a charted heart
--         rate have none.
-- Hour:   the 60 minutes up to endtime, start excluded, end included. Hours end on the full clock
--         hour, so a time belongs to the hour that ends at the time rounded up to the hour.
-- Rules:  the worst value of the hour is scored; an organ not measured in the hour is NULL. The
--         *_24hours columns take the maximum over the hour and the 23 hours before it (hours before
--         ICU admission included), 0 when nothing was measured, and sofa_24hours is their sum.
-- Source: Vincent JL et al., Intensive Care Med 1996;22:707-710; Singer M et al., JAMA
--         2016;315:801-810; MIMIC-IV derived concept `sofa` (MIT-LCP mimic-code, concepts/score).
-- Units:  PaO2/FiO2 mmHg; vasopressor rates mcg/kg/min; mean arterial pressure mmHg; urine mL per
--         24 h; bilirubin and creatinine mg/dL; platelets K/µL.
WITH arterial_gas AS (
    -- Gases are linked by patient, and told apart by whether the patient was invasively ventilated.
    SELECT
        ie.stay_id,
        bg.charttime,
        CASE WHEN vent.stay_id IS NULL THEN bg.pao2fio2ratio END AS pao2fio2ratio_novent,
        CASE WHEN vent.stay_id IS NOT NULL THEN bg.pao2fio2ratio END AS pao2fio2ratio_vent
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.bg AS bg
        ON ie.subject_id = bg.subject_id
        AND bg.specimen = 'ART.'
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON ie.stay_id = vent.stay_id
        AND bg.charttime >= vent.starttime
        AND bg.charttime <= vent.endtime
        AND vent.ventilation_status = 'InvasiveVent'
),

infusion AS (
    SELECT stay_id, starttime, endtime, vaso_rate AS epinephrine FROM mimiciv_derived.epinephrine
    UNION ALL BY NAME
    SELECT stay_id, starttime, endtime, vaso_rate AS norepinephrine FROM mimiciv_derived.norepinephrine
    UNION ALL BY NAME
    SELECT stay_id, starttime, endtime, vaso_rate AS dopamine FROM mimiciv_derived.dopamine
    UNION ALL BY NAME
    SELECT stay_id, starttime, endtime, vaso_rate AS dobutamine FROM mimiciv_derived.dobutamine
),

measured AS (
    SELECT stay_id, charttime, pao2fio2ratio_novent, pao2fio2ratio_vent FROM arterial_gas

    UNION ALL BY NAME
    -- An infusion counts in every hour that ends after its start and not after its end.
    SELECT
        stay_id,
        UNNEST(GENERATE_SERIES(
            DATE_TRUNC('hour', starttime) + INTERVAL '1' HOUR, endtime, INTERVAL '1' HOUR
        )) AS charttime,
        epinephrine,
        norepinephrine,
        dopamine,
        dobutamine
    FROM infusion

    UNION ALL BY NAME
    SELECT stay_id, charttime, mbp FROM mimiciv_derived.vitalsign

    UNION ALL BY NAME
    SELECT stay_id, charttime, gcs FROM mimiciv_derived.gcs

    UNION ALL BY NAME
    -- urine of the past day scaled to 24 h, where the records cover 22 to 30 hours
    SELECT stay_id, charttime, urineoutput_24hr / uo_tm_24hr * 24 AS uo_24hr
    FROM mimiciv_derived.urine_output_rate
    WHERE uo_tm_24hr >= 22 AND uo_tm_24hr <= 30

    UNION ALL BY NAME
    -- Laboratory values are linked by admission; one without an admission id does not count.
    SELECT ie.stay_id, lab.charttime, lab.bilirubin_total
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.enzyme AS lab ON ie.hadm_id = lab.hadm_id

    UNION ALL BY NAME
    SELECT ie.stay_id, lab.charttime, lab.creatinine
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.chemistry AS lab ON ie.hadm_id = lab.hadm_id

    UNION ALL BY NAME
    SELECT ie.stay_id, lab.charttime, lab.platelet
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.complete_blood_count AS lab ON ie.hadm_id = lab.hadm_id
),

worst_of_hour AS (
    SELECT
        stay_id,
        DATE_TRUNC('hour', charttime - INTERVAL '1' MICROSECOND) + INTERVAL '1' HOUR AS endtime,
        MIN(pao2fio2ratio_novent) AS pao2fio2ratio_novent,
        MIN(pao2fio2ratio_vent) AS pao2fio2ratio_vent,
        MAX(epinephrine) AS rate_epinephrine,
        MAX(norepinephrine) AS rate_norepinephrine,
        MAX(dopamine) AS rate_dopamine,
        MAX(dobutamine) AS rate_dobutamine,
        MIN(mbp) AS meanbp_min,
        MIN(gcs) AS gcs_min,
        MAX(uo_24hr) AS uo_24hr,
        MAX(bilirubin_total) AS bilirubin_max,
        MAX(creatinine) AS creatinine_max,
        MIN(platelet) AS platelet_min
    FROM measured
    GROUP BY ALL
),

hourly AS (
    SELECT
        ih.stay_id,
        ih.hr,
        ih.endtime - INTERVAL '1' HOUR AS starttime,
        ih.endtime,
        worst.pao2fio2ratio_novent,
        worst.pao2fio2ratio_vent,
        worst.rate_epinephrine,
        worst.rate_norepinephrine,
        worst.rate_dopamine,
        worst.rate_dobutamine,
        worst.meanbp_min,
        worst.gcs_min,
        worst.uo_24hr,
        worst.bilirubin_max,
        worst.creatinine_max,
        worst.platelet_min
    FROM mimiciv_derived.icustay_hourly AS ih
    INNER JOIN mimiciv_icu.icustays AS ie ON ih.stay_id = ie.stay_id
    LEFT JOIN worst_of_hour AS worst
        ON ih.stay_id = worst.stay_id
        AND ih.endtime = worst.endtime
),

scored AS (
    -- In each list the first line that holds decides; a missing value holds in none.
    SELECT
        *,
        CASE
            WHEN pao2fio2ratio_vent < 100 THEN 4
            WHEN pao2fio2ratio_vent < 200 THEN 3
            WHEN pao2fio2ratio_novent < 300 THEN 2  -- without ventilation never more than 2
            WHEN pao2fio2ratio_vent < 300 THEN 2
            WHEN pao2fio2ratio_novent < 400 THEN 1
            WHEN pao2fio2ratio_vent < 400 THEN 1
            WHEN COALESCE(pao2fio2ratio_vent, pao2fio2ratio_novent) IS NULL THEN NULL
            ELSE 0
        END AS respiration,
        CASE
            WHEN platelet_min < 20 THEN 4
            WHEN platelet_min < 50 THEN 3
            WHEN platelet_min < 100 THEN 2
            WHEN platelet_min < 150 THEN 1
            WHEN platelet_min IS NULL THEN NULL
            ELSE 0
        END AS coagulation,
        CASE
            WHEN bilirubin_max >= 12.0 THEN 4
            WHEN bilirubin_max >= 6.0 THEN 3
            WHEN bilirubin_max >= 2.0 THEN 2
            WHEN bilirubin_max >= 1.2 THEN 1
            WHEN bilirubin_max IS NULL THEN NULL
            ELSE 0
        END AS liver,
        CASE
            WHEN rate_dopamine > 15 OR rate_epinephrine > 0.1 OR rate_norepinephrine > 0.1 THEN 4
            -- any charted epinephrine or norepinephrine rate, even 0
            WHEN rate_dopamine > 5 OR rate_epinephrine <= 0.1 OR rate_norepinephrine <= 0.1 THEN 3
            WHEN rate_dopamine > 0 OR rate_dobutamine > 0 THEN 2
            WHEN meanbp_min < 70 THEN 1
            WHEN
                COALESCE(
                    meanbp_min, rate_dopamine, rate_dobutamine, rate_epinephrine, rate_norepinephrine
                ) IS NULL
                THEN NULL
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN gcs_min >= 13 AND gcs_min <= 14 THEN 1
            WHEN gcs_min >= 10 AND gcs_min <= 12 THEN 2
            WHEN gcs_min >= 6 AND gcs_min <= 9 THEN 3
            WHEN gcs_min < 6 THEN 4
            WHEN gcs_min IS NULL THEN NULL
            ELSE 0
        END AS cns,
        CASE
            WHEN creatinine_max >= 5.0 THEN 4
            WHEN uo_24hr < 200 THEN 4
            WHEN creatinine_max >= 3.5 THEN 3
            WHEN uo_24hr < 500 THEN 3
            WHEN creatinine_max >= 2.0 THEN 2
            WHEN creatinine_max >= 1.2 THEN 1
            WHEN COALESCE(uo_24hr, creatinine_max) IS NULL THEN NULL
            ELSE 0
        END AS renal
    FROM hourly
),

worst_of_day AS (
    SELECT
        *,
        COALESCE(MAX(respiration) OVER past_day, 0) AS respiration_24hours,
        COALESCE(MAX(coagulation) OVER past_day, 0) AS coagulation_24hours,
        COALESCE(MAX(liver) OVER past_day, 0) AS liver_24hours,
        COALESCE(MAX(cardiovascular) OVER past_day, 0) AS cardiovascular_24hours,
        COALESCE(MAX(cns) OVER past_day, 0) AS cns_24hours,
        COALESCE(MAX(renal) OVER past_day, 0) AS renal_24hours
    FROM scored
    WINDOW past_day AS (PARTITION BY stay_id ORDER BY hr ROWS BETWEEN 23 PRECEDING AND CURRENT ROW)
)

SELECT
    *,
    respiration_24hours
    + coagulation_24hours
    + liver_24hours
    + cardiovascular_24hours
    + cns_24hours
    + renal_24hours AS sofa_24hours
FROM worst_of_day
-- the day before admission only feeds the maxima
WHERE hr >= 0
