SELECT n AS cpleolid, patientunitstayid, 900 AS cpleolsaveoffset, 880 AS cpleoldiscussionoffset, 'True' AS activeupondischarge FROM patient_stay WHERE u('eol', n, 0) < 0.03 ORDER BY n
