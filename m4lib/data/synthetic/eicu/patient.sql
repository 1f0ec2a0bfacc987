SELECT patientunitstayid, healthsystem AS patienthealthsystemstayid, pick(['Female', 'Male', 'Female', 'Male', 'Unknown'], CASE WHEN u('sex', n, 0) < 0.01 THEN 0.9 ELSE 0.8 * u('sex', n, 1) END) AS gender, age,
    pick(['Caucasian', 'Caucasian', 'African American', 'Hispanic', 'Asian', 'Other/Unknown'], u('ethnicity', n, 0)) AS ethnicity, hospitalid, 9000 + hospitalid % 100 AS wardid,
    pick(['Sepsis, pulmonary', 'CHF, congestive heart failure', 'CABG alone, coronary artery bypass grafting', 'Rhythm disturbance (atrial, supraventricular)', NULL], u('dx', n, 0)) AS apacheadmissiondx,
    round(clamp(170 + 10 * z('height', n, 0), 120, 220)) AS admissionheight, '10:00:00' AS hospitaladmittime24,
    CASE WHEN u('pre', n, 0) < 0.02 THEN NULL
         WHEN u('pre', n, 0) < 0.05 THEN (u('pre', n, 1) * 60)::BIGINT
         WHEN u('pre', n, 0) < 0.2 THEN pick([0, -10, -11, -296, -297, -1440, -1441, -18708, -18709], u('pre', n, 2))
         ELSE -clamp(exp(5.5 + 1.6 * z('pre', n, 3)), 1, 40000)::BIGINT END AS hospitaladmitoffset,
    'Emergency Department' AS hospitaladmitsource, 2014 + n % 2 AS hospitaldischargeyear, '12:00:00' AS hospitaldischargetime24, los + 60 * (n % 200) AS hospitaldischargeoffset,
    CASE WHEN status = 'Expired' THEN 'Death' ELSE 'Home' END AS hospitaldischargelocation, status AS hospitaldischargestatus,
    pick(['Med-Surg ICU', 'Med-Surg ICU', 'Cardiac ICU', 'MICU', 'SICU', 'Neuro ICU', 'CCU-CTICU'], u('unit', n, 0)) AS unittype, '11:00:00' AS unitadmittime24,
    pick(['Emergency Department', 'Emergency Department', 'Floor', 'Operating Room', 'Operating Room', 'Direct Admit', 'Recovery Room', 'Step-Down Unit (SDU)', NULL], u('source', n, 0)) AS unitadmitsource,
    1 AS unitvisitnumber, pick(['admit', 'admit', 'admit', 'readmit', 'stepdown/other', 'transfer'], u('type', n, 0)) AS unitstaytype,
    round(clamp(exp(4.35 + 0.22 * z('weight', n, 0)), 38, 240), 1) AS admissionweight, round(clamp(exp(4.34 + 0.22 * z('weight', n, 0)), 38, 240), 1) AS dischargeweight,
    '15:00:00' AS unitdischargetime24, los AS unitdischargeoffset, CASE WHEN status = 'Expired' THEN 'Death' ELSE 'Floor' END AS unitdischargelocation, status AS unitdischargestatus,
    '999-' || healthsystem AS uniquepid
FROM patient_stay ORDER BY patientunitstayid
