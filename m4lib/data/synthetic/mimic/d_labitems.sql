SELECT itemid, label, 'Blood' AS fluid, category FROM labs
UNION ALL SELECT 52033, 'Specimen Type', 'Blood', 'Blood Gas'
UNION ALL SELECT 50807, 'Comments', 'Blood', 'Blood Gas'
UNION ALL SELECT 50812, 'Intubated', 'Blood', 'Blood Gas'
ORDER BY itemid
