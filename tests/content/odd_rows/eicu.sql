-- Changes to a synthetic eICU: numbers written in unusual ways, totals out of range beside valid ones, values on a
-- threshold, missing sources.
UPDATE eicu_crd.nursecharting SET nursingchartvalue = [
    ' ' || nursingchartvalue, nursingchartvalue || '  ', '+' || nursingchartvalue, nursingchartvalue || '.', '  ' || nursingchartvalue, '- 5',
    '1e1', '.5', '> 89', 'NaN', '12,3', nursingchartvalue || chr(160), nursingchartvalue || ' ',
    nursingchartvalue || '.0005', '-0.5', '0', 'inf', '1__0', ' 7 ', nursingchartvalue || 'e0'
][1 + nursingchartid % 20]
WHERE nursingchartid % 3 = 0;
INSERT INTO eicu_crd.nursecharting BY NAME
SELECT * REPLACE (nursingchartid + 800000000 AS nursingchartid,
                  ['2', '16', '15', '3', '9'][1 + (patientunitstayid + nursingchartoffset) % 5] AS nursingchartvalue)
FROM eicu_crd.nursecharting
WHERE nursingchartcelltypevallabel IN ('Glasgow coma score', 'Score (Glasgow Coma Scale)')
    AND (patientunitstayid + nursingchartoffset) % 4 < 2;
DELETE FROM eicu_crd.nursecharting
WHERE nursingchartcelltypevalname IN ('Motor', 'Verbal', 'Eyes')
    AND ((patientunitstayid + nursingchartoffset) % 5 = 0 OR patientunitstayid % 3 = 0);
UPDATE eicu_crd.patient SET age = [
    '> 89', '65.5', '', 'x', '23', '24', '53', '54', '77', '78', '89', '90', '53.5', NULL
][1 + patientunitstayid % 14];
UPDATE eicu_crd.patient SET hospitaladmitoffset = [-10, -11, -296, -297, -1440, -1441, -18708, -18709, 0, 5, NULL][1 + patientunitstayid % 11]
WHERE patientunitstayid % 2 = 0;
UPDATE eicu_crd.patient SET unitadmitsource = NULL WHERE patientunitstayid % 7 = 0;
UPDATE eicu_crd.respiratorycare SET airwaytype = NULL, airwaysize = '', airwayposition = NULL, cuffpressure = NULL, setapneatv = NULL
WHERE respcareid % 5 = 0;
UPDATE eicu_crd.respiratorycare SET airwaytype = NULL, airwaysize = NULL, airwayposition = NULL, cuffpressure = NULL, setapneatv = NULL
WHERE respcareid % 5 = 1;
UPDATE eicu_crd.respiratorycare SET respcarestatusoffset = [0, 1, 1440, 1441][1 + respcareid % 4] WHERE respcareid % 3 = 0;
UPDATE eicu_crd.apacheapsvar SET intubated = NULL WHERE apacheapsvarid % 2 = 0;
UPDATE eicu_crd.apacheapsvar SET urine = [-1, 0, 500, NULL][1 + apacheapsvarid % 4] WHERE apacheapsvarid % 2 = 1;
UPDATE eicu_crd.intakeoutput SET cellvaluenumeric = NULL WHERE patientunitstayid % 6 = 0;
UPDATE eicu_crd.intakeoutput SET cellvaluenumeric = -cellvaluenumeric WHERE intakeoutputid % 13 = 0;
UPDATE eicu_crd.intakeoutput SET cellpath = 'flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|' || [
    'FOLEY x', 'foley or', 'Foley pacu', 'Output: Urinary Catheter 1', 'Urinary Catheter Output a', 'Urine Output (mL) b',
    'urine ', 'Straight  Cath', 'Straight   Cath', 'Foley irrigation', 'OUTPUT Urinary Catheter'
][1 + intakeoutputid % 11]
WHERE intakeoutputid % 2 = 0;
UPDATE eicu_crd.physicalexam SET physicalexampath = physicalexampath || 'x' WHERE physicalexamid % 3 = 0;
UPDATE eicu_crd.physicalexam SET physicalexamvalue = ['2', '16', '14.5', 'x', ' 7 '][1 + physicalexamid % 5] WHERE physicalexamid % 2 = 0;
UPDATE eicu_crd.apachepredvar SET electivesurgery = NULL WHERE apachepredvarid % 3 = 0;
