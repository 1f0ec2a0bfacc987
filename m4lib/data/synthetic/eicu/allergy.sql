SELECT n AS allergyid, patientunitstayid, 20 AS allergyoffset, 25 AS allergyenteredoffset, 'Admission' AS allergynotetype, 'eCM Primary' AS specialtytype, 'THC Nurse' AS usertype, 'False' AS rxincluded, 'False' AS writtenineicu, 'PENICILLINS' AS drugname,
    'Drug' AS allergytype, 'penicillins' AS allergyname, NULL AS drughiclseqno FROM patient_stay WHERE u('allergy', n, 0) < 0.3 ORDER BY n
