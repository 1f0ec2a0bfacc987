SELECT subject_id, hadm_id, pharmacy_id, subject_id || '-' || (key % 4096) AS poe_id, ts(at_s) AS starttime, ts(at_s + 86400) AS stoptime, drug AS medication,
    'Unit Dose' AS proc_type, 'Discontinued' AS status, ts(at_s - 600) AS entertime, ts(at_s - 300) AS verifiedtime, route, 'Q8H' AS frequency, NULL AS disp_sched,
    NULL AS infusion_type, NULL AS sliding_scale, NULL AS lockout_interval, NULL AS basal_rate, NULL AS one_hr_max, 3 AS doses_per_24_hrs, NULL AS duration, NULL AS duration_interval,
    36 AS expiration_value, 'Hours' AS expiration_unit, NULL AS expirationdate, 'Omnicell' AS dispensation, NULL AS fill_quantity
FROM drug_order ORDER BY pharmacy_id
