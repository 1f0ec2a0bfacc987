-- Changes to a synthetic MIMIC-IV that bring rows which neither the demo nor the generator has: missing times and numbers,
-- simultaneous records, overlapping stays, values on a threshold.

-- gases: a second specimen at the same time, venous and with the smaller number or with the larger one
INSERT INTO mimiciv_hosp.labevents BY NAME
SELECT * REPLACE (labevent_id + 500000000 AS labevent_id,
                  CASE WHEN specimen_id % 2 = 0 THEN specimen_id - 900000000 ELSE specimen_id + 900000000 END AS specimen_id,
                  CASE WHEN itemid = 52033 THEN 'VEN.' ELSE value END AS value,
                  CASE WHEN itemid = 50821 THEN valuenum / 2 ELSE valuenum END AS valuenum)
FROM mimiciv_hosp.labevents WHERE specimen_id % 5 < 2 AND (itemid = 52033 OR itemid BETWEEN 50801 AND 50825);

-- rows without admission number, implausible creatinine, an anion gap without number that alone carries the admission
UPDATE mimiciv_hosp.labevents SET hadm_id = NULL WHERE (labevent_id * 7) % 11 = 0;
UPDATE mimiciv_hosp.labevents SET valuenum = 151 WHERE itemid = 50912 AND labevent_id % 37 = 0;
UPDATE mimiciv_hosp.labevents SET valuenum = NULL WHERE itemid IN (50868, 51237, 51256) AND labevent_id % 4 = 0;
UPDATE mimiciv_hosp.labevents SET hadm_id = NULL WHERE specimen_id % 6 = 0 AND itemid <> 50868;
UPDATE mimiciv_hosp.labevents SET valuenum = -valuenum WHERE itemid IN (50868, 50912) AND labevent_id % 41 = 0;

-- creatinine at the edges of the KDIGO products and sums
UPDATE mimiciv_hosp.labevents SET valuenum = [0.8, 1.2, 1.1, 1.4, 0.7, 1.05, 2.1, 3.7, 4.0, 0.6, 0.9, 1.8][1 + labevent_id % 12]
WHERE itemid = 50912 AND labevent_id % 3 = 0;
DELETE FROM mimiciv_hosp.labevents WHERE itemid = 50912 AND subject_id % 4 = 0;
INSERT INTO mimiciv_hosp.labevents BY NAME
SELECT 800000000 + 2 * stay_id + n AS labevent_id, subject_id, hadm_id, -(2 * stay_id + n) AS specimen_id, 50912 AS itemid,
       CASE WHEN n = 1 THEN intime + INTERVAL 8 HOUR WHEN stay_id % 4 < 2 THEN intime ELSE intime - INTERVAL 60 HOUR END AS charttime,
       [[2.0, 2.3], [1.1, 1.4], [2.6, 3.9], [1.3, 3.9]][1 + stay_id % 4][1 + n]::DOUBLE AS valuenum
FROM mimiciv_icu.icustays, (VALUES (0), (1)) AS twice (n) WHERE subject_id % 4 = 0;

-- devices: records without text, several at once, without flow text
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE (NULL AS value) FROM mimiciv_icu.chartevents
WHERE itemid = 226732 AND (stay_id + epoch(charttime)::BIGINT // 60) % 9 = 0;
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE ('Aerosol-cool' AS value) FROM mimiciv_icu.chartevents
WHERE itemid = 226732 AND (stay_id + epoch(charttime)::BIGINT // 60) % 7 = 1;
UPDATE mimiciv_icu.chartevents SET value = NULL WHERE itemid = 223834 AND (stay_id + epoch(charttime)::BIGINT // 60) % 13 = 2;
UPDATE mimiciv_icu.chartevents SET value = 'CPAP mask ' WHERE itemid = 226732 AND (stay_id + epoch(charttime)::BIGINT // 60) % 17 = 3;

-- several modes of one item at one time
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE ('Standby' AS value) FROM mimiciv_icu.chartevents
WHERE itemid = 223849 AND (stay_id + epoch(charttime)::BIGINT // 60) % 5 = 0;
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE ('CMV' AS value) FROM mimiciv_icu.chartevents
WHERE itemid = 223849 AND (stay_id + epoch(charttime)::BIGINT // 60) % 5 = 1;

-- infusions: missing times, units and weights, zero rates, no stay
UPDATE mimiciv_icu.inputevents SET starttime = NULL WHERE orderid % 23 = 1;
UPDATE mimiciv_icu.inputevents SET endtime = NULL WHERE orderid % 23 = 2;
UPDATE mimiciv_icu.inputevents SET rateuom = 'mg/kg/min', patientweight = 1 WHERE itemid = 221906 AND orderid % 7 = 0;
UPDATE mimiciv_icu.inputevents SET rateuom = 'mg/kg/min', patientweight = NULL, rate = rate / 1000 WHERE itemid = 221906 AND orderid % 7 = 1;
UPDATE mimiciv_icu.inputevents SET rateuom = 'mcg/min', rate = rate * 80, patientweight = CASE orderid % 4 WHEN 0 THEN 0 WHEN 1 THEN NULL ELSE 80 END
WHERE itemid = 221749 AND orderid % 2 = 0;
UPDATE mimiciv_icu.inputevents SET rate = 0 WHERE itemid IN (221906, 221289, 221749, 221662) AND orderid % 11 = 3;
UPDATE mimiciv_icu.inputevents SET rate = NULL WHERE orderid % 29 = 4;

-- overlapping: a second, finite phenylephrine beside an infinite one
INSERT INTO mimiciv_icu.inputevents BY NAME
SELECT * REPLACE (orderid + 700000000 AS orderid, 'mcg/kg/min' AS rateuom, 1.5 AS rate, endtime + INTERVAL 30 MINUTE AS endtime)
FROM mimiciv_icu.inputevents WHERE itemid = 221749 AND orderid % 3 = 0;
INSERT INTO mimiciv_icu.inputevents BY NAME
SELECT * REPLACE (NULL AS stay_id) FROM mimiciv_icu.inputevents WHERE itemid = 221906 AND orderid % 31 = 5;
UPDATE mimiciv_icu.inputevents SET amount = 0 WHERE itemid IN (227536, 227525) AND orderid % 2 = 0;

-- dialysis evidence
UPDATE mimiciv_icu.procedureevents SET itemid = 225436 WHERE orderid % 19 = 0;
UPDATE mimiciv_icu.procedureevents SET itemid = 225441, value = NULL WHERE orderid % 19 = 1;
UPDATE mimiciv_icu.inputevents SET itemid = 227536, amount = CASE WHEN orderid % 2 = 0 THEN 0 ELSE 5 END
WHERE itemid NOT IN (221906, 221289, 221662, 221653, 221749, 222315, 221986) AND orderid % 97 = 0;

-- services and stays
UPDATE mimiciv_hosp.services SET transfertime = NULL WHERE hadm_id % 5 = 0 AND curr_service LIKE '%SURG%';
UPDATE mimiciv_hosp.admissions SET admission_type = 'ELECTIVE' WHERE hadm_id % 4 = 0;
UPDATE mimiciv_hosp.admissions SET admission_type = NULL WHERE hadm_id % 31 = 1;
UPDATE mimiciv_icu.icustays SET outtime = NULL WHERE stay_id % 29 = 0;

-- second stays that overlap the first of the same patient
UPDATE mimiciv_icu.icustays AS s SET intime = f.intime + INTERVAL 3 HOUR
FROM (SELECT subject_id, min_by(stay_id, intime) AS stay_id, min(intime) AS intime FROM mimiciv_icu.icustays GROUP BY 1) AS f
WHERE f.subject_id = s.subject_id AND f.stay_id <> s.stay_id AND s.stay_id % 2 = 0;

-- admissions of unknown patients, patients without sex or age
UPDATE mimiciv_hosp.admissions SET subject_id = -subject_id WHERE hadm_id % 13 = 1 AND hadm_id NOT IN (SELECT hadm_id FROM mimiciv_icu.icustays);
DELETE FROM mimiciv_hosp.admissions WHERE hadm_id % 13 = 0 AND hadm_id NOT IN (SELECT hadm_id FROM mimiciv_icu.icustays);
UPDATE mimiciv_hosp.patients SET gender = NULL WHERE subject_id % 37 = 0;
UPDATE mimiciv_hosp.patients SET anchor_age = NULL WHERE subject_id % 41 = 0;
UPDATE mimiciv_hosp.patients SET anchor_age = 60 WHERE subject_id % 7 = 0;

-- the age exactly at a band
UPDATE mimiciv_hosp.admissions AS a SET admittime = make_timestamp(p.anchor_year, 1, 1, 0, 0, 0) FROM mimiciv_hosp.patients AS p
WHERE a.subject_id = p.subject_id AND a.subject_id % 7 = 0 AND a.hadm_id % 3 = 0;
UPDATE mimiciv_hosp.patients SET anchor_age = 58 WHERE subject_id % 9 = 0;
UPDATE mimiciv_hosp.admissions AS a SET admittime = make_timestamp(p.anchor_year, 1, 1, 0, 0, 0) + INTERVAL 63114000 SECOND
FROM mimiciv_hosp.patients AS p WHERE a.subject_id = p.subject_id AND a.subject_id % 9 = 0;

-- diagnoses: short codes and range ends
UPDATE mimiciv_hosp.diagnoses_icd SET icd_version = 9, icd_code = [
    '199', '196', '1991', '1992', '2030', '20302', '20303', '20311', '20382', '20383', '2025', '20239',
    '583', '175', '2386', '1959', '173', '042', '0420', '5854', '585', '04', '78951', '2733'
][1 + (hadm_id + seq_num) % 24]
WHERE (hadm_id + seq_num) % 3 = 0;
UPDATE mimiciv_hosp.diagnoses_icd SET icd_version = 10, icd_code = [
    'C4A1', 'C7A1', 'C80', 'C800', 'C801', 'B23', 'B24', 'N18', 'N184', 'N185', 'N183', 'E10', 'C96', 'C97', 'I6'
][1 + (hadm_id + seq_num) % 15]
WHERE (hadm_id + seq_num) % 5 = 1;

-- heart rates at the calendar month, weights at the times of urine records, equal times of weights, no positive weight
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT subject_id, hadm_id, stay_id,
       CASE stay_id % 4 WHEN 0 THEN intime - INTERVAL 1 MONTH WHEN 1 THEN intime - INTERVAL 1 MONTH + INTERVAL 1 SECOND
           WHEN 2 THEN intime - INTERVAL 30 DAY - INTERVAL 1 HOUR ELSE intime - INTERVAL 31 DAY END AS charttime,
       220045 AS itemid, NULL AS value FROM mimiciv_icu.icustays WHERE stay_id % 3 = 0;
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT subject_id, hadm_id, stay_id, charttime, 224639 AS itemid, '40' AS value,
       40.0 + (epoch(charttime)::BIGINT // 60) % 90 AS valuenum
FROM mimiciv_icu.outputevents
WHERE stay_id % 4 = 0 AND (epoch(charttime)::BIGINT // 60 + stay_id) % 6 = 0;
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE (226512 AS itemid, valuenum + 3 AS valuenum) FROM mimiciv_icu.chartevents
WHERE itemid = 224639 AND stay_id % 8 = 0;
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE (valuenum + 7 AS valuenum) FROM mimiciv_icu.chartevents
WHERE itemid IN (224639, 226512) AND stay_id % 5 = 0;
UPDATE mimiciv_icu.chartevents SET valuenum = 0 WHERE itemid IN (224639, 226512) AND stay_id % 21 = 0;
UPDATE mimiciv_icu.outputevents SET value = NULL WHERE (epoch(charttime)::BIGINT // 60 + stay_id) % 19 = 0;
UPDATE mimiciv_icu.outputevents SET itemid = 227488, value = -value WHERE (epoch(charttime)::BIGINT // 60 + stay_id) % 23 = 1;

-- temperatures equally far from 38, coma scale with two verbal records
INSERT INTO mimiciv_icu.chartevents BY NAME
SELECT * REPLACE ('No Response-ETT' AS value, 1 AS valuenum) FROM mimiciv_icu.chartevents
WHERE itemid = 223900 AND (stay_id + epoch(charttime)::BIGINT // 60) % 6 = 0;
UPDATE mimiciv_icu.chartevents SET itemid = 223762, valuenum = CASE WHEN (epoch(charttime)::BIGINT // 60) % 7 < 3 THEN 34.9 ELSE 41.1 END
WHERE itemid IN (223761, 223762) AND stay_id % 3 = 0;
DELETE FROM mimiciv_icu.chartevents WHERE itemid IN (220739, 223901) AND (stay_id + epoch(charttime)::BIGINT // 60) % 4 = 0;

-- prescriptions and cultures
UPDATE mimiciv_hosp.prescriptions SET drug_type = CASE pharmacy_id % 3 WHEN 0 THEN NULL ELSE 'BASE' END
WHERE pharmacy_id % 5 < 2 OR (length(drug) + length(route)) % 5 = 0;
UPDATE mimiciv_hosp.prescriptions SET stoptime = NULL WHERE pharmacy_id % 6 = 0;
UPDATE mimiciv_hosp.prescriptions SET starttime = NULL WHERE pharmacy_id % 17 = 0;
UPDATE mimiciv_hosp.prescriptions SET route = NULL WHERE pharmacy_id % 43 = 0;
UPDATE mimiciv_hosp.prescriptions AS p SET starttime = m.charttime
FROM (SELECT subject_id, min(charttime) AS charttime FROM mimiciv_hosp.microbiologyevents GROUP BY 1) AS m
WHERE m.subject_id = p.subject_id AND p.pharmacy_id % 9 = 0;
UPDATE mimiciv_hosp.microbiologyevents SET charttime = NULL WHERE micro_specimen_id % 4 = 0;
UPDATE mimiciv_hosp.microbiologyevents SET spec_type_desc = NULL WHERE micro_specimen_id % 7 = 0;
UPDATE mimiciv_hosp.microbiologyevents SET micro_specimen_id = NULL
WHERE subject_id = (SELECT max(subject_id) FROM mimiciv_hosp.prescriptions SEMI JOIN mimiciv_hosp.microbiologyevents USING (subject_id));
UPDATE mimiciv_hosp.microbiologyevents SET org_itemid = NULL WHERE microevent_id % 11 = 0;
