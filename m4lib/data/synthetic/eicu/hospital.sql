SELECT 900 + range AS hospitalid, pick(['<100', '100 - 249', '250 - 499', '>= 500', NULL], u('beds', range, 0)) AS numbedscategory,
    CASE WHEN u('teaching', range, 0) < 0.2 THEN 't' ELSE 'f' END AS teachingstatus, pick(['Midwest', 'South', 'West', 'Northeast', NULL], u('region', range, 0)) AS region
FROM range(41)
